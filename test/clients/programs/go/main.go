// Uses the public API by the client that oapi-codegen made of its document.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"

	"clients/checker"
	"github.com/google/uuid"
)

func check(ok bool, what string, facts ...any) {
	if !ok {
		log.Fatalln(append([]any{what}, facts...)...)
	}
}

func main() {
	ctx := context.Background()
	authorized := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	client, err := checker.NewClientWithResponses(os.Getenv("API_URL"), checker.WithRequestEditorFn(authorized))
	check(err == nil, "client", err)
	var urls []string
	for n := range 5 {
		urls = append(urls, fmt.Sprintf("%s/%d", os.Getenv("SITE_URL"), n))
	}

	seconds, interval, key := 60, float32(1), uuid.NewString()
	made, err := client.CreateJobAndWaitWithResponse(ctx, &checker.CreateJobAndWaitParams{
		WaitSeconds: &seconds, PollInterval: &interval, IdempotencyKey: &key,
	}, checker.NewJob{Urls: &urls})
	check(err == nil && made.JSON201 != nil, "create", err)
	job := made.JSON201
	check(job.Status == checker.JobStatusCompleted && len(job.Results) == len(urls), "job", job.Status, len(job.Results))

	var found []string
	limit, begin := 2, ""
	for cursor := &begin; cursor != nil; {
		page, err := client.ListJobResultsWithResponse(ctx, job.JobId, &checker.ListJobResultsParams{Limit: &limit, Cursor: cursor})
		check(err == nil && page.JSON200 != nil, "results", err)
		for _, result := range page.JSON200.Results {
			found = append(found, result.Url)
		}
		cursor = page.JSON200.NextCursor
	}
	check(reflect.DeepEqual(found, urls), "pages", found)

	ref := "row-7"
	items := []checker.UrlWithRef{{Url: urls[0], Ref: &ref}}
	named, err := client.CreateJobAndWaitWithResponse(ctx, &checker.CreateJobAndWaitParams{}, checker.NewJob{Items: &items})
	check(err == nil && named.JSON201 != nil && *named.JSON201.Results[0].Ref == ref, "ref", err)

	status := checker.JobStatusCompleted
	listed, err := client.ListJobsWithResponse(ctx, &checker.ListJobsParams{Status: &status})
	check(err == nil && listed.JSON200 != nil && len(listed.JSON200.Items) > 0, "list", err)
	usage, err := client.GetUsageWithResponse(ctx, nil)
	check(err == nil && usage.JSON200.CreditBalance > 0 && usage.JSON200.PeriodUsage.PeriodEnd.After(usage.JSON200.PeriodUsage.PeriodStart), "usage", err)

	events := []checker.WebhookEventType{checker.WebhookEventTypeJobCompleted, checker.WebhookEventTypeJobFailed}
	endpoint, err := client.CreateWebhookEndpointWithResponse(ctx, nil, checker.NewWebhookEndpoint{
		Url: "https://example.com/hook", Events: &events,
	})
	check(err == nil && endpoint.JSON201 != nil && endpoint.JSON201.SigningSecret != "", "endpoint", err)
	id := endpoint.JSON201.Id
	endpoints, err := client.ListWebhookEndpointsWithResponse(ctx, nil)
	check(err == nil && len(endpoints.JSON200.Items) > 0, "endpoints", err)
	tested, err := client.TestWebhookEndpointWithResponse(ctx, id, nil)
	check(err == nil && tested.JSON202 != nil, "test", err)
	event, err := tested.JSON202.Event.AsEndpointTestWebhook()
	check(err == nil && event.Data.EndpointId == id, "event", err, event)
	removed, err := client.DeleteWebhookEndpointWithResponse(ctx, id)
	check(err == nil && removed.StatusCode() == 204, "delete", err)

	missing, err := client.GetJobWithResponse(ctx, uuid.NewString(), nil)
	check(err == nil && missing.JSON404 != nil && missing.JSON404.Error.Code == checker.ErrorCodeNotFound, "404", err)
	refused, err := client.CreateJobWithResponse(ctx, nil, checker.NewJob{Urls: &[]string{"no URL"}})
	check(err == nil && refused.JSON422 != nil && len(refused.JSON422.Detail) > 0, "422", err)
}
