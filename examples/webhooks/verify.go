// Verifies a webhook: go run verify.go SECRET "SERVICE-SIGNATURE" < body
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// verify takes the received bytes of the body. It returns an error unless the secret signed them, at most five minutes
// ago.
func verify(body []byte, header, secret string) error {
	timestamp := ""
	var signatures []string
	for _, field := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		if name == "t" && timestamp == "" {
			timestamp = value
		} else if name == "v1" {
			signatures = append(signatures, value)
		}
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil {
		return errors.New("the header has no timestamp")
	}

	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	signed := false
	for _, signature := range signatures {
		signed = signed || hmac.Equal([]byte(signature), expected)
	}
	if !signed {
		return errors.New("no signature matches")
	}
	if time.Since(time.Unix(int64(seconds), 0)).Abs() > tolerance {
		return errors.New("the timestamp is too old")
	}
	return nil
}

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err == nil && len(os.Args) != 3 {
		err = errors.New("wants the secret and the header")
	}
	if err == nil {
		err = verify(body, os.Args[2], os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
	fmt.Println("verified")
}
