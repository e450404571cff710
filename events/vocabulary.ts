// Every event type of the log, by the category of its stream. The codec checks each event against it; analysts read it as
// the schema of the log.
import { API_KEY_USES_EVENTS, API_KEYS_EVENTS } from './api-key.ts';
import { BACKUP_EVENTS } from './backup.ts';
import { BLOCKLIST_EVENTS } from './blocked-domain.ts';
import { CHECKS_EVENTS } from './checks.ts';
import { CREDITS_EVENTS } from './credits.ts';
import { DOMAIN_CHECKS_EVENTS } from './domain-checks.ts';
import type { DataOf, EventSpec, EventSpecs } from './event-spec.ts';
import type { RecordedEvent } from './event-store.ts';
import { GROWTH_NOTE_EVENTS } from './growth-note.ts';
import { IDEMPOTENCY_EVENTS } from './idempotency.ts';
import { JOB_EVENTS, URLS_EVENTS } from './job.ts';
import { LEDGER_HEADS_EVENTS } from './ledger-head.ts';
import { MAIL_EVENTS } from './mail.ts';
import { PAYMENT_EVENTS } from './payment.ts';
import { PAYMENT_ISSUE_EVENTS } from './payment-issue.ts';
import { PERSONAL_KEYS_EVENTS } from './personal-keys.ts';
import { PROXY_EVENTS } from './proxy.ts';
import { PROXY_LIST_EVENTS } from './proxy-list.ts';
import { REPORTED_EVENTS } from './reported-events.ts';
import { SERVICE_EVENTS } from './service.ts';
import { SESSION_EVENTS } from './session.ts';
import { SHARE_USES_EVENTS, SHARES_EVENTS } from './share.ts';
import { SIGNUP_BONUSES_EVENTS } from './signup-bonus.ts';
import { SUBSCRIPTION_EVENTS } from './subscription.ts';
import { USER_EVENTS } from './user.ts';
import { WEBHOOK_DELIVERY_EVENTS, WEBHOOK_ENDPOINTS_EVENTS } from './webhook.ts';
import { WORKER_LOG_EVENTS } from './worker-log.ts';

export const VOCABULARY = {
  user: USER_EVENTS,
  signup_bonuses: SIGNUP_BONUSES_EVENTS,
  credits: CREDITS_EVENTS,
  job: JOB_EVENTS,
  urls: URLS_EVENTS,
  checks: CHECKS_EVENTS,
  domain_checks: DOMAIN_CHECKS_EVENTS,
  api_keys: API_KEYS_EVENTS,
  api_key_uses: API_KEY_USES_EVENTS,
  backup: BACKUP_EVENTS,
  blocklist: BLOCKLIST_EVENTS,
  growth_note: GROWTH_NOTE_EVENTS,
  idempotency: IDEMPOTENCY_EVENTS,
  intake: REPORTED_EVENTS,
  personal_keys: PERSONAL_KEYS_EVENTS,
  ledger_heads: LEDGER_HEADS_EVENTS,
  mail: MAIL_EVENTS,
  payment: PAYMENT_EVENTS,
  payment_issue: PAYMENT_ISSUE_EVENTS,
  proxy: PROXY_EVENTS,
  proxy_list: PROXY_LIST_EVENTS,
  service: SERVICE_EVENTS,
  session: SESSION_EVENTS,
  shares: SHARES_EVENTS,
  share_uses: SHARE_USES_EVENTS,
  subscription: SUBSCRIPTION_EVENTS,
  webhook_endpoints: WEBHOOK_ENDPOINTS_EVENTS,
  webhook_delivery: WEBHOOK_DELIVERY_EVENTS,
  worker_log: WORKER_LOG_EVENTS,
} as const satisfies Readonly<Record<string, EventSpecs>>;

type Categories = typeof VOCABULARY;
export type Category = keyof Categories;
type Merged<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type Specs = Merged<Categories[Category]>;

/** The data type of each event type, by name. */
export type EventMap = { [Type in keyof Specs]: Specs[Type] extends EventSpec ? DataOf<Specs[Type]> : never };
export type EventType = keyof EventMap;
export type EventTypeOf<Each extends Category> = Each extends Category ? keyof Categories[Each] : never;

/** A recorded event whose `type` says what its `data` is. */
export type LogEvent<Type extends EventType = EventType> = {
  [Each in Type]: RecordedEvent<Each, EventMap[Each]>;
}[Type];

/** The event types of all categories, by name. */
export const EVENT_TYPES = Object.assign({}, ...Object.values(VOCABULARY)) as {
  readonly [Type in EventType]: EventSpec;
};

export const isEventType = (type: string): type is EventType => Object.hasOwn(EVENT_TYPES, type);
