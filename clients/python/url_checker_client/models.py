"""Written by `node .ci/client-models.ts` from the OpenAPI document of the public API."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, Union

class ApiError(TypedDict):
    error: "ErrorInfo"

CheckErrorCode = Literal["dns_not_found", "dns_failed", "connection_refused", "connection_reset", "connect_timeout", "response_timeout", "tls_expired", "tls_hostname", "tls_untrusted", "tls_failed", "too_many_redirects", "redirect_loop", "invalid_redirect", "blocked_address", "proxy_failed", "malformed_response", "invalid_url", "checker_fault"]

class EndpointTestWebhook(TypedDict):
    id: str
    type: Literal["endpoint.test"]
    created_at: str
    data: dict[str, Any]

ErrorCode = Literal["validation_error", "unauthorized", "no_credits", "forbidden", "not_found", "method_not_allowed", "too_slow", "conflict", "results_expired", "idempotency_key_mismatch", "idempotency_in_progress", "payload_too_large", "unsupported_media_type", "rate_limited", "too_many_requests_at_once", "headers_too_large", "internal_error", "unavailable", "storage_full", "maintenance"]

class ErrorDetails(TypedDict):
    reason: NotRequired[str]

class ErrorInfo(TypedDict):
    code: "ErrorCode"
    message: str
    details: NotRequired["ErrorDetails"]

FailureReason = Literal["no_progress", "batch_undeliverable"]

class HTTPValidationError(TypedDict):
    error: "ValidationErrorInfo"
    detail: list["ValidationError"]

class Job(TypedDict):
    job_id: str
    status: "JobStatus"
    total_urls: int
    completed_urls: int
    test: bool
    credits_allocated: int
    credits_refunded: int
    duplicates_removed: int
    invalid_urls_rejected: int
    blocked_urls_skipped: int
    pause_reason: Union["PauseReason", None]
    failure_reason: Union["FailureReason", None]
    created_at: str
    started_at: Union[str, None]
    completed_at: Union[str, None]
    results_expired_at: Union[str, None]
    source: "JobSource"
    filename: Union[str, None]
    label: Union[str, None]
    metadata: Union[dict[str, Any], None]
    options: Union["ShownJobOptions", None]

class JobCancelledWebhook(TypedDict):
    id: str
    type: Literal["job.cancelled"]
    created_at: str
    data: dict[str, Any]

class JobCompletedWebhook(TypedDict):
    id: str
    type: Literal["job.completed"]
    created_at: str
    data: dict[str, Any]

class JobFailedWebhook(TypedDict):
    id: str
    type: Literal["job.failed"]
    created_at: str
    data: dict[str, Any]

class JobList(TypedDict):
    items: list["Job"]
    next_cursor: Union[str, None]

class JobOptions(TypedDict):
    accept_status_codes: NotRequired[list[int]]
    host_gap_ms: NotRequired[int]
    headers: NotRequired[list[dict[str, Any]]]
    user_agent_suffix: NotRequired[str]
    look_twice: NotRequired[bool]

class JobPausedWebhook(TypedDict):
    id: str
    type: Literal["job.paused"]
    created_at: str
    data: dict[str, Any]

class JobResults(TypedDict):
    results: list["UrlResult"]
    items: NotRequired[list["UrlResult"]]
    next_cursor: Union[str, None]
    total: int

JobSource = Literal["upload", "api", "rerun"]

JobStatus = Literal["processing", "paused", "completed", "cancelled", "failed"]

class JobWithResults(TypedDict):
    job_id: str
    status: "JobStatus"
    total_urls: int
    completed_urls: int
    test: bool
    credits_allocated: int
    credits_refunded: int
    duplicates_removed: int
    invalid_urls_rejected: int
    blocked_urls_skipped: int
    pause_reason: Union["PauseReason", None]
    failure_reason: Union["FailureReason", None]
    created_at: str
    started_at: Union[str, None]
    completed_at: Union[str, None]
    results_expired_at: Union[str, None]
    source: "JobSource"
    filename: Union[str, None]
    label: Union[str, None]
    metadata: Union[dict[str, Any], None]
    options: Union["ShownJobOptions", None]
    timed_out: bool
    results: list["UrlResult"]
    next_cursor: Union[str, None]

class JobWithWork(TypedDict):
    job_id: str
    status: "JobStatus"
    total_urls: int
    completed_urls: int
    test: bool
    credits_allocated: int
    credits_refunded: int
    duplicates_removed: int
    invalid_urls_rejected: int
    blocked_urls_skipped: int
    pause_reason: Union["PauseReason", None]
    failure_reason: Union["FailureReason", None]
    created_at: str
    started_at: Union[str, None]
    completed_at: Union[str, None]
    results_expired_at: Union[str, None]
    source: "JobSource"
    filename: Union[str, None]
    label: Union[str, None]
    metadata: Union[dict[str, Any], None]
    options: Union["ShownJobOptions", None]
    urls_in_flight: Union[int, None]

class KeyUsage(TypedDict):
    credit_limit: int
    credits_used: int

class NewJob(TypedDict):
    urls: NotRequired[list[str]]
    items: NotRequired[list["UrlWithRef"]]
    label: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    options: NotRequired["JobOptions"]

class NewWebhookEndpoint(TypedDict):
    url: str
    events: NotRequired[list["WebhookEventType"]]

PauseReason = Literal["owner", "credit_ceiling", "usage_limit"]

class PeriodUsage(TypedDict):
    period_start: str
    period_end: str
    credits_used: int

RedirectKind = Literal["permanent", "temporary", "mixed"]

class RejectedRow(TypedDict):
    row: int
    cell: Union[str, None]
    value: str
    reason: Literal["duplicate", "blocked_domain", "empty", "too_long", "control_character", "undecodable", "unsupported_scheme", "email_address", "several_words", "space_in_url", "no_domain", "malformed", "placeholder", "relative", "uncalculated", "prefix_missing", "not_of_sandbox", "private_address"]
    message: str
    ref: NotRequired[str]
    duplicate_of_row: Union[int, None]

class RejectedRowList(TypedDict):
    items: list["RejectedRow"]
    total: int
    limit: int
    offset: int

class SecretRotation(TypedDict):
    overlap_seconds: NotRequired[int]

class ShownJobOptions(TypedDict):
    accept_status_codes: NotRequired[list[int]]
    host_gap_ms: NotRequired[int]
    headers: NotRequired[list[dict[str, Any]]]
    user_agent_suffix: NotRequired[str]
    look_twice: NotRequired[bool]

StatusGroup = Literal["2xx", "3xx", "4xx", "5xx", "broken", "unreachable"]

class UrlResult(TypedDict):
    url: str
    row: Union[int, None]
    ref: NotRequired[str]
    cell: Union[str, None]
    status_code: Union[int, None]
    final_url: Union[str, None]
    is_broken: bool
    is_soft_404: bool
    redirect_chain: list[str]
    response_time_ms: Union[int, None]
    content_type: Union[str, None]
    error_code: Union["CheckErrorCode", None]
    verdict: "Verdict"
    protection: Union[str, None]
    attempts: int
    meta_refresh: NotRequired[str]
    tried_ms: NotRequired[int]
    tls_detail: NotRequired[str]
    by_circuit: NotRequired[Literal[True]]
    temporary: bool
    redirects: list[dict[str, Any]]
    redirect_kind: NotRequired["RedirectKind"]
    redirect_changes: NotRequired[Literal["form", "address"]]

class UrlWithRef(TypedDict):
    url: str
    ref: NotRequired[str]

class Usage(TypedDict):
    credit_balance: int
    available_credits: int
    plan: str
    period_usage: "PeriodUsage"
    key: Union["KeyUsage", None]

class ValidationError(TypedDict):
    loc: list[Union[str, int]]
    msg: str
    type: str
    value: NotRequired[Any]

class ValidationErrorDetails(TypedDict):
    reason: NotRequired[str]
    problems: list["ValidationError"]

class ValidationErrorInfo(TypedDict):
    code: "ErrorCode"
    message: str
    details: "ValidationErrorDetails"

Verdict = Literal["ok", "redirected", "broken", "soft_404", "blocked", "unreachable"]

class WebhookAttempt(TypedDict):
    attempt: int
    at: str
    status_code: Union[int, None]
    error: Union[str, None]
    response_excerpt: str
    duration_ms: int

class WebhookDelivery(TypedDict):
    id: str
    event: "WebhookEvent"
    status: "WebhookDeliveryStatus"
    given_up_reason: Union["WebhookGivenUpReason", None]
    created_at: str
    next_attempt_at: Union[str, None]
    attempt_count: int
    attempts: list["WebhookAttempt"]

class WebhookDeliveryList(TypedDict):
    items: list["WebhookDelivery"]
    total: int
    limit: int
    offset: int

WebhookDeliveryStatus = Literal["pending", "delivered", "given_up"]

WebhookDisabledReason = Literal["gone", "failing"]

class WebhookEndpoint(TypedDict):
    id: str
    url: str
    events: list["WebhookEventType"]
    status: "WebhookEndpointStatus"
    disabled_reason: Union["WebhookDisabledReason", None]
    older_secrets_until: Union[str, None]
    created_at: str

class WebhookEndpointList(TypedDict):
    items: list["WebhookEndpoint"]
    total: int
    limit: int
    offset: int

WebhookEndpointStatus = Literal["enabled", "disabled"]

class WebhookEndpointWithSecret(TypedDict):
    id: str
    url: str
    events: list["WebhookEventType"]
    status: "WebhookEndpointStatus"
    disabled_reason: Union["WebhookDisabledReason", None]
    older_secrets_until: Union[str, None]
    created_at: str
    signing_secret: str

WebhookEvent = Union["JobCompletedWebhook", "JobPausedWebhook", "JobFailedWebhook", "JobCancelledWebhook", "EndpointTestWebhook"]

WebhookEventType = Literal["job.completed", "job.paused", "job.failed", "job.cancelled"]

WebhookGivenUpReason = Literal["no_attempts_left", "endpoint_gone", "endpoint_disabled"]

