// Every event type of the log with its JSON Schema: what analysts read it by, and what a test holds every event to.
import type { TSchema } from 'typebox';
import { ApiKeyCreated, ApiKeyRevoked, ApiKeyUsed } from './api-key.ts';
import { DomainBlocked, DomainBlockUpdated, DomainUnblocked } from './blocked-domain.ts';
import { URLChecked } from './checks.ts';
import { CreditsAdjusted, CreditsExpired, CreditsGranted, CreditsRefunded, CreditsReserved } from './credits.ts';
import { DomainsChecked } from './domain-checks.ts';
import { RequestAbandoned, RequestAnswered, RequestClaimed, RequestReleased } from './idempotency.ts';
import {
  JobCancelled,
  JobCompleted,
  JobCreated,
  JobDeleted,
  JobFailed,
  JobPaused,
  JobPurged,
  JobResumed,
  ListingDiscarded,
  ReservationVoided,
  ResultsPurged,
  UrlsListed,
} from './job.ts';
import { ProxyObserved } from './proxy.ts';
import { ShareCreated, ShareRevoked, ShareUsed } from './share.ts';
import { UserRegistered, UserUpdated } from './user.ts';
import {
  WebhookAttempted,
  WebhookDelivered,
  WebhookDeliveryGivenUp,
  WebhookDeliveryRequested,
  WebhookEndpointCreated,
  WebhookEndpointDeleted,
  WebhookEndpointDisabled,
  WebhookEndpointOwnerNotified,
  WebhookResendRequested,
} from './webhook.ts';

/** By stream category, then by event type. */
export const VOCABULARY: Readonly<Record<string, Readonly<Record<string, TSchema>>>> = {
  user: { UserRegistered, UserUpdated },
  credits: { CreditsGranted, CreditsReserved, CreditsRefunded, CreditsAdjusted, CreditsExpired },
  job: {
    JobCreated,
    JobPaused,
    JobResumed,
    JobCancelled,
    JobCompleted,
    JobFailed,
    JobDeleted,
    ResultsPurged,
    JobPurged,
    ReservationVoided,
    ListingDiscarded,
  },
  urls: { UrlsListed },
  checks: { URLChecked },
  domain_checks: { DomainsChecked },
  apikey: { ApiKeyCreated, ApiKeyRevoked, ApiKeyUsed },
  blocked_domain: { DomainBlocked, DomainBlockUpdated, DomainUnblocked },
  idempotency: { RequestClaimed, RequestAnswered, RequestReleased, RequestAbandoned },
  proxy: { ProxyObserved },
  share: { ShareCreated, ShareRevoked, ShareUsed },
  webhook_endpoints: {
    WebhookEndpointCreated,
    WebhookEndpointDisabled,
    WebhookEndpointOwnerNotified,
    WebhookEndpointDeleted,
  },
  webhook_delivery: {
    WebhookDeliveryRequested,
    WebhookAttempted,
    WebhookDelivered,
    WebhookDeliveryGivenUp,
    WebhookResendRequested,
  },
};
