# Verifies a webhook: python3 verify.py SECRET "SERVICE-SIGNATURE" < body
import hashlib
import hmac
import re
import sys
import time

TOLERANCE_S = 5 * 60


def verify(body: bytes, header: str, secret: str) -> None:
    """`body`: the received bytes. Raises ValueError unless the secret signed them, at most five minutes ago."""
    fields = [field.strip().partition("=") for field in header.split(",")]
    timestamp = next((value for name, _, value in fields if name == "t"), "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise ValueError("the header has no timestamp")

    expected = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    signatures = [value for name, _, value in fields if name == "v1"]
    if not any(hmac.compare_digest(value.encode(), expected.encode()) for value in signatures):
        raise ValueError("no signature matches")
    if abs(time.time() - int(timestamp)) > TOLERANCE_S:
        raise ValueError("the timestamp is too old")


if __name__ == "__main__":
    try:
        verify(sys.stdin.buffer.read(), header=sys.argv[2], secret=sys.argv[1])
        print("verified")
    except ValueError as error:
        sys.exit(f"refused: {error}")
