# Uses the public API by the client that openapi-python-client made of its document.
import os
import uuid

from checker_client import AuthenticatedClient
from checker_client.api.jobs import create_job, create_job_and_wait, get_job, list_job_results, list_jobs
from checker_client.api.usage import get_usage
from checker_client.api.webhook_endpoints import (
    create_webhook_endpoint,
    delete_webhook_endpoint,
    list_webhook_endpoints,
    test_webhook_endpoint,
)
from checker_client.models import (
    ApiError,
    EndpointTestWebhook,
    ErrorCode,
    HTTPValidationError,
    JobStatus,
    JobWithResults,
    NewJob,
    NewWebhookEndpoint,
    WebhookEventType,
)

client = AuthenticatedClient(base_url=os.environ["API_URL"], token=os.environ["API_KEY"], timeout=100)
urls = [f"{os.environ['SITE_URL']}/{n}" for n in range(5)]

job = create_job_and_wait.sync(
    client=client, body=NewJob(urls=urls), wait_seconds=60, poll_interval=1, idempotency_key=str(uuid.uuid4())
)
assert isinstance(job, JobWithResults), job
assert job.status == JobStatus.COMPLETED and len(job.results) == len(urls)

found, cursor = [], ""
while cursor is not None:
    page = list_job_results.sync(job.job_id, client=client, limit=2, cursor=cursor)
    found += [result.url for result in page.results]
    cursor = page.next_cursor
assert found == urls, found

listed = list_jobs.sync(client=client, status=JobStatus.COMPLETED, limit=10)
assert job.job_id in [item.job_id for item in listed.items]
usage = get_usage.sync(client=client)
assert usage.credit_balance > 0 and usage.period_usage.period_end > usage.period_usage.period_start

endpoint = create_webhook_endpoint.sync(
    client=client,
    body=NewWebhookEndpoint(
        url="https://example.com/hook", events=[WebhookEventType.JOB_COMPLETED, WebhookEventType.JOB_FAILED]
    ),
)
assert endpoint.signing_secret.startswith("whsec_")
assert endpoint.id in [item.id for item in list_webhook_endpoints.sync(client=client).items]
tested = test_webhook_endpoint.sync(endpoint.id, client=client)
assert isinstance(tested.event, EndpointTestWebhook), tested.event
assert delete_webhook_endpoint.sync_detailed(endpoint.id, client=client).status_code == 204

missing = get_job.sync(str(uuid.uuid4()), client=client)
assert isinstance(missing, ApiError) and missing.error.code == ErrorCode.NOT_FOUND, missing
refused = create_job.sync(client=client, body=NewJob(urls=["no URL"]))
assert isinstance(refused, HTTPValidationError) and refused.detail[0].loc == ["body", "urls"], refused
