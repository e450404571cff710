"""A thin client of the public API: it repeats what is safe to repeat, reads pages to their end, waits for jobs, and verifies webhooks.

It needs nothing but the standard library.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Union, cast

from .models import Job, JobOptions, JobWithWork, RejectedRow, UrlResult, Usage

__all__ = ["ApiError", "UrlChecker", "is_webhook_signed"]

Item = Union[str, Mapping[str, str]]

_PAGE = 10_000
_TEMPORARY = {429, 500, 502, 503, 504}
_STOPPED = {"completed", "cancelled", "failed", "paused"}
_TOLERANCE_S = 300


class ApiError(Exception):
    """The service refused the request. Decide on `code`."""

    def __init__(self, status: int, error: Mapping[str, Any], request_id: str | None) -> None:
        super().__init__(error["message"])
        self.status = status
        self.code: str = error["code"]
        self.details: Mapping[str, Any] = error.get("details", {})
        self.request_id = request_id


class UrlChecker:
    """`base_url`: where the service is. `tries`: how often a request is sent at most. `timeout_s`: of one try."""

    def __init__(self, base_url: str, api_key: str, *, tries: int = 5, timeout_s: float = 60) -> None:
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._tries = tries
        self._timeout_s = timeout_s

    def submit(
        self,
        urls: Sequence[Item],
        *,
        label: str | None = None,
        metadata: Mapping[str, str] | None = None,
        options: JobOptions | None = None,
        idempotency_key: str | None = None,
    ) -> Job:
        """Submits a list. A submission whose answer was lost is sent again under the same key, and makes no second job."""
        more = {"label": label, "metadata": metadata, "options": options}
        body = {**_list_of(urls), **{name: value for name, value in more.items() if value is not None}}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        return cast(Job, self.request("POST", "/jobs", body=body, headers=headers))

    def check(self, urls: Sequence[Item], **submission: Any) -> Iterator[UrlResult]:
        """Submits a list and yields its results as they come, in the order of the list."""
        yield from self.results(self.submit(urls, **submission)["job_id"])

    def job(self, job_id: str) -> JobWithWork:
        return cast(JobWithWork, self.request("GET", f"/jobs/{_quoted(job_id)}"))

    def wait(self, job_id: str, *, timeout_s: float | None = None, poll_s: float = 1) -> JobWithWork:
        """Returns the job when it has completed, failed, paused or been cancelled. Raises TimeoutError."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            job = self.job(job_id)
            if job["status"] in _STOPPED:
                return job
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"job {job_id} is still {job['status']}")
            time.sleep(poll_s)

    def results(self, job_id: str, **filters: Any) -> Iterator[UrlResult]:
        """Yields all results that pass the filters. While the job is processing it waits for more; a paused job ends it."""
        for page in self._pages(f"/jobs/{_quoted(job_id)}/results", {"limit": _PAGE, **filters}):
            yield from page["results"]

    def jobs(self, **filters: Any) -> Iterator[Job]:
        """Yields the jobs of the key's user, the newest first."""
        for page in self._pages("/jobs", {"limit": 1000, **filters}):
            yield from page["items"]

    def rejected(self, job_id: str, **filters: Any) -> Iterator[RejectedRow]:
        """Yields the texts of the list that are not checked, each with its reason."""
        offset = 0
        while True:
            query = {"limit": 1000, **filters, "offset": offset}
            page = self.request("GET", f"/jobs/{_quoted(job_id)}/rejected", query=query)
            yield from page["items"]
            offset += len(page["items"])
            if not page["items"] or offset >= page["total"]:
                return

    def export(self, job_id: str, path: str | os.PathLike[str], **filters: Any) -> None:
        """Writes all results that pass the filters into a CSV file, or with `format="xlsx"` into a workbook."""
        self._send("GET", f"/jobs/{_quoted(job_id)}/export", lambda response: _write(response, path), query=filters)

    def cancel(self, job_id: str) -> Job:
        return cast(Job, self.request("DELETE", f"/jobs/{_quoted(job_id)}"))

    def resume(self, job_id: str) -> Job:
        """Goes on with a paused job, once there are credits."""
        return cast(Job, self.request("POST", f"/jobs/{_quoted(job_id)}/resume"))

    def usage(self) -> Usage:
        return cast(Usage, self.request("GET", "/usage"))

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Any other operation, by its path below `/api/v2`. A POST without an idempotency key is not repeated after a lost answer."""
        return self._send(method, path, _read_json, query=query, body=body, headers=headers)

    def _send(
        self,
        method: str,
        path: str,
        read: Callable[[http.client.HTTPResponse], Any],
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        given = {name: _written(value) for name, value in (query or {}).items() if value is not None}
        url = f"{self._base_url}/api/v2{path}" + (f"?{urllib.parse.urlencode(given)}" if given else "")
        sent = {"Authorization": f"Bearer {self._api_key}", "Accept-Encoding": "gzip", **(headers or {})}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        is_repeatable = method != "POST" or "Idempotency-Key" in sent
        for n in range(1, self._tries + 1):
            wait_s = 2 ** (n - 1) * random.uniform(0.5, 1)
            try:
                asked = urllib.request.Request(url, data=data, headers=sent, method=method)
                with urllib.request.urlopen(asked, timeout=self._timeout_s) as response:
                    return read(response)
            except urllib.error.HTTPError as refused:
                error = _error_of(refused)
                may_repeat = error.status in _TEMPORARY or error.code == "idempotency_in_progress"
                if not may_repeat or n == self._tries or (error.status == 500 and not is_repeatable):
                    raise error from None
                after = refused.headers.get("Retry-After", "")
                wait_s = float(after) if after.isdecimal() else wait_s
            except (FileNotFoundError, PermissionError, IsADirectoryError):
                # Of a file that cannot be written.
                raise
            except (OSError, EOFError, zlib.error, http.client.HTTPException):
                if n == self._tries or not is_repeatable:
                    raise
            time.sleep(wait_s)
        raise AssertionError("tries is at least 1")

    def _pages(self, path: str, filters: Mapping[str, Any]) -> Iterator[Any]:
        cursor: str | None = ""
        while cursor is not None:
            page = self.request("GET", path, query={**filters, "cursor": cursor})
            yield page
            cursor = page["next_cursor"]


def is_webhook_signed(body: bytes, header: str, secret: str, *, now: float | None = None) -> bool:
    """Whether a webhook is signed with the secret, at most five minutes ago. `body`: the bytes as they came; `header`: Service-Signature."""
    fields = [field.strip().partition("=") for field in header.split(",")]
    timestamp = next((value for name, _, value in fields if name == "t"), "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > _TOLERANCE_S:
        return False
    expected = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return any(name == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for name, _, value in fields)


def _read_json(response: http.client.HTTPResponse | urllib.error.HTTPError) -> Any:
    with _unpacked(response) as content:
        return json.loads(content.read() or b"null")


def _write(response: http.client.HTTPResponse, path: str | os.PathLike[str]) -> None:
    with _unpacked(response) as content, open(path, "wb") as file:
        shutil.copyfileobj(content, file)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _unpacked(response: http.client.HTTPResponse | urllib.error.HTTPError) -> BinaryIO:
    is_packed = response.headers.get("Content-Encoding") == "gzip"
    return cast(BinaryIO, gzip.GzipFile(fileobj=response) if is_packed else response)


def _list_of(urls: Sequence[Item]) -> dict[str, Any]:
    """The API takes strings as `urls`, and URLs with names as `items`."""
    if all(isinstance(item, str) for item in urls):
        return {"urls": list(urls)}
    return {"items": [{"url": item} if isinstance(item, str) else dict(item) for item in urls]}


def _error_of(refused: urllib.error.HTTPError) -> ApiError:
    request_id = refused.headers.get("X-Request-ID")
    try:
        return ApiError(refused.code, _read_json(refused)["error"], request_id)
    except (ValueError, KeyError, TypeError, OSError, EOFError, zlib.error, http.client.HTTPException):
        # What stands before the service answers in its own way.
        error = {"code": "unavailable", "message": f"The answer has status {refused.code}."}
        return ApiError(refused.code, error, request_id)


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(_written, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
