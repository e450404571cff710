// Which events an audit can judge.
import { CHECKS_EVENTS } from '../events/checks.ts';
import { CREDITS_EVENTS } from '../events/credits.ts';
import type { EventSpecs } from '../events/event-spec.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { JOB_EVENTS } from '../events/job.ts';
import { PAYMENT_EVENTS } from '../events/payment.ts';
import { categoryOf } from '../events/streams.ts';
import { SUBSCRIPTION_EVENTS } from '../events/subscription.ts';

/** The types of the events of each category that proves the ledger. */
const KNOWN: Readonly<Record<string, EventSpecs>> = {
  credits: CREDITS_EVENTS,
  job: JOB_EVENTS,
  checks: CHECKS_EVENTS,
  payment: PAYMENT_EVENTS,
  subscription: SUBSCRIPTION_EVENTS,
};

/** Whether the type, or its version, is unknown in its category. */
export function isOfLater({ stream, type, metadata }: Pick<RecordedEvent, 'stream' | 'type' | 'metadata'>): boolean {
  const types = KNOWN[categoryOf(stream)] ?? {};
  return !Object.hasOwn(types, type) || (metadata?.version ?? 1) > types[type]!.upcasters.length + 1;
}
