# Uses the public API by the client that openapi-generator made of its document.
import json
import os
import uuid

import generated_client
from generated_client.exceptions import NotFoundException, UnprocessableEntityException
from generated_client.models import EndpointTestWebhook, JobStatus, NewJob, NewWebhookEndpoint, UrlWithRef, WebhookEventType

configuration = generated_client.Configuration(host=os.environ["API_URL"], access_token=os.environ["API_KEY"])
client = generated_client.ApiClient(configuration)
jobs = generated_client.JobsApi(client)
endpoints = generated_client.WebhookEndpointsApi(client)
urls = [f"{os.environ['SITE_URL']}/{n}" for n in range(5)]

job = jobs.create_job_and_wait(
    NewJob(urls=urls), wait_seconds=60, poll_interval=1, idempotency_key=str(uuid.uuid4())
)
assert job.status == JobStatus.COMPLETED and len(job.results) == len(urls)

found, cursor = [], ""
while cursor is not None:
    page = jobs.list_job_results(job.job_id, limit=2, cursor=cursor)
    found += [result.url for result in page.results]
    cursor = page.next_cursor
assert found == urls, found
named = jobs.create_job_and_wait(NewJob(items=[UrlWithRef(url=urls[0], ref="row-7")]))
assert named.results[0].ref == "row-7", named

assert job.job_id in [item.job_id for item in jobs.list_jobs(status=JobStatus.COMPLETED, limit=10).items]
usage = generated_client.UsageApi(client).get_usage()
assert usage.credit_balance > 0 and usage.period_usage.period_end > usage.period_usage.period_start

endpoint = endpoints.create_webhook_endpoint(
    NewWebhookEndpoint(
        url="https://example.com/hook", events=[WebhookEventType.JOB_DOT_COMPLETED, WebhookEventType.JOB_DOT_FAILED]
    )
)
assert endpoint.signing_secret.startswith("whsec_")
assert endpoint.id in [item.id for item in endpoints.list_webhook_endpoints().items]
tested = endpoints.test_webhook_endpoint(endpoint.id)
assert isinstance(tested.event.actual_instance, EndpointTestWebhook), tested.event
assert endpoints.delete_webhook_endpoint_with_http_info(endpoint.id).status_code == 204

try:
    jobs.get_job(str(uuid.uuid4()))
    raise AssertionError("a job that does not exist was shown")
except NotFoundException as error:
    assert json.loads(error.body)["error"]["code"] == "not_found", error.body
try:
    jobs.create_job(NewJob(urls=["no URL"]))
    raise AssertionError("a list without a URL was taken")
except UnprocessableEntityException as error:
    assert json.loads(error.body)["detail"][0]["loc"] == ["body", "urls"], error.body
