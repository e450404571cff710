// Verifies notes and proofs that it reads from standard input, by golang.org/x/mod, which knows nothing of this service: one JSON object a line,
// and one line of output for each, `ok` or what is wrong.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Kind                        string
	Note, Verifier, Text        string
	First, Second, Index, Size  int64
	FirstRoot, SecondRoot, Root string
	// The data of the leaf, in hex.
	Leaf  string
	Proof []string
}

func hash(text string) (made tlog.Hash) {
	bytes, err := hex.DecodeString(text)
	if err != nil || len(bytes) != len(made) {
		panic(fmt.Sprintf("%q is no hash", text))
	}
	copy(made[:], bytes)
	return made
}

func hashes(texts []string) (made []tlog.Hash) {
	for _, text := range texts {
		made = append(made, hash(text))
	}
	return made
}

func check(q question) error {
	switch q.Kind {
	case "note":
		verifier, err := note.NewVerifier(q.Verifier)
		if err != nil {
			return err
		}
		opened, err := note.Open([]byte(q.Note), note.VerifierList(verifier))
		if err == nil && opened.Text != q.Text {
			err = fmt.Errorf("the text is %q", opened.Text)
		}
		return err
	case "inclusion":
		data, err := hex.DecodeString(q.Leaf)
		if err != nil {
			return err
		}
		return tlog.CheckRecord(tlog.RecordProof(hashes(q.Proof)), q.Size, hash(q.Root), q.Index, tlog.RecordHash(data))
	case "consistency":
		return tlog.CheckTree(tlog.TreeProof(hashes(q.Proof)), q.Second, hash(q.SecondRoot), q.First, hash(q.FirstRoot))
	}
	return fmt.Errorf("unknown kind %q", q.Kind)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var q question
		err := json.Unmarshal(lines.Bytes(), &q)
		if err == nil {
			err = check(q)
		}
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
}
