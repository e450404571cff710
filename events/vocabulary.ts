// Every event type of the log with its JSON Schema: the codec holds each event to it, and analysts read the log by it.
import type { Static, TSchema } from 'typebox';
import { ApiKeyCreated, ApiKeyRevoked, ApiKeyUsed } from './api-key.ts';
import { DomainBlocked, DomainBlockUpdated, DomainUnblocked } from './blocked-domain.ts';
import { URLChecked } from './checks.ts';
import { CreditsAdjusted, CreditsExpired, CreditsGranted, CreditsRefunded, CreditsReserved } from './credits.ts';
import { DomainsChecked } from './domain-checks.ts';
import type { RecordedEvent } from './event-store.ts';
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
import { LogIdentified } from './service.ts';
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
export const VOCABULARY = {
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
  api_keys: { ApiKeyCreated, ApiKeyRevoked },
  api_key_uses: { ApiKeyUsed },
  blocklist: { DomainBlocked, DomainBlockUpdated, DomainUnblocked },
  idempotency: { RequestClaimed, RequestAnswered, RequestReleased, RequestAbandoned },
  proxy: { ProxyObserved },
  service: { LogIdentified },
  shares: { ShareCreated, ShareRevoked },
  share_uses: { ShareUsed },
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
} as const satisfies Readonly<Record<string, Readonly<Record<string, TSchema>>>>;

type Categories = typeof VOCABULARY;
type Merged<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type Schemas = Merged<Categories[keyof Categories]>;

/** The name of each event type, with the type of its data. */
export type EventMap = { [Type in keyof Schemas]: Schemas[Type] extends TSchema ? Static<Schemas[Type]> : never };
export type EventType = keyof EventMap;

/** A recorded event whose `type` says what its `data` is. */
export type LogEvent<Type extends EventType = EventType> = {
  [Each in Type]: RecordedEvent<Each, EventMap[Each]>;
}[Type];

/** The schema of each event type, whatever its category. */
export const SCHEMAS = Object.assign({}, ...Object.values(VOCABULARY)) as { readonly [Type in EventType]: TSchema };

export const isEventType = (type: string): type is EventType => Object.hasOwn(SCHEMAS, type);
