// `payments reconcile`: takes the events of the payment provider that the log lacks, as after a restore, and names payments that the log alone has.
import { randomUUID } from 'node:crypto';
import { openBilling, type PaymentNotice } from '../../commands/billing/billing.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { PaymentReceived } from '../../events/payment.ts';
import { isOfStore } from '../../events/store-faults.ts';
import { idOf } from '../../events/streams.ts';
import { openLogger } from '../../service/logger.ts';
import { openChargingProvider } from '../../service/open-payments.ts';
import { openStores } from '../../service/stores.ts';
import { readConfig } from '../../settings/config.ts';
import { DAY_MS } from '../../time/units.ts';
import { closing } from '../closing.ts';
import { assertUsedLog } from '../used-log.ts';
import { type Command, count, EXIT, type Run, UsageError } from './command.ts';
import { pointOf } from './ledger-options.ts';

const OPENING_MS = 30_000;
/** The provider forgets older events. */
const KEPT_DAYS = 30;

interface Reconciled {
  /** Events of the provider. */
  events: number;
  /** Those that the log lacked, with what they say. */
  taken: { event_id: string; notices: string[] }[];
  /** Those that could not be read or recorded. */
  not_taken: { event_id: string; why: string }[];
  /** Payments of the time that none of the provider's events is about. */
  in_log_alone: { payment_id: string; user_id: string; amount_cents: number; currency: string; paid_at: string }[];
}

export const paymentsReconcile: Command = {
  summary:
    'take the events of the payment provider that the log lacks, and name payments that the log alone has. It writes to the log',
  options: {
    since: {
      type: 'string',
      value: 'WHEN',
      means: `a time or a day, at most ${KEPT_DAYS} days ago: that of the backup, after a restore`,
    },
  },
  async run(run) {
    const since_ms = sinceOf(run);
    const config = readConfig(run.env);
    const provider = await openChargingProvider(config);
    if (provider === null)
      throw new UsageError('PAYMENT_SECRET_KEY is unset: only the provider that takes money has events');
    const logger = openLogger({ ...config, log_level: 'error' });
    const opening = { of: 'others', signal: AbortSignal.timeout(OPENING_MS), waiting: () => {} } as const;
    await assertUsedLog(config, logger, opening);
    await using stores = closing(await openStores(config, logger, opening));
    const reconciled = await reconcile(stores.log, provider, since_ms);
    run.out.write(run.json ? `${JSON.stringify(reconciled, null, 2)}\n` : textOf(reconciled));
    // An event that was not taken may be about a payment that seems to be in the log alone.
    if (reconciled.not_taken.length > 0) return EXIT.unknown;
    return reconciled.in_log_alone.length > 0 ? EXIT.violation : EXIT.clean;
  },
};

function sinceOf(run: Run): number {
  const point = pointOf(run, 'since', 'start');
  if (point === null || !('time' in point)) throw new UsageError('--since must be a time or a day');
  if (point.time < Date.now() - KEPT_DAYS * DAY_MS) {
    run.err.write(`the provider keeps events for ${KEPT_DAYS} days: compare older payments on its own pages\n`);
  }
  return point.time;
}

type Provider = NonNullable<Awaited<ReturnType<typeof openChargingProvider>>>;

async function reconcile(log: EventStore, provider: Provider, since_ms: number): Promise<Reconciled> {
  let appended = 0;
  const counting: EventStore = {
    ...log,
    readStream: (...of) => log.readStream(...of),
    append: async (...of) => {
      const done = await log.append(...of);
      if (done.ok) appended += 1;
      return done;
    },
  };
  const billing = openBilling(counting, openCredits(counting), provider.name);
  const reconciled: Reconciled = { events: 0, taken: [], not_taken: [], in_log_alone: [] };
  const known = new Set<string>();
  async function take(event_id: string, notice: PaymentNotice): Promise<void> {
    const context = { command_id: randomUUID(), causation_id: event_id, actor: 'admin:reconcile', now: Date.now() };
    await billing.take(notice, context).catch((error: unknown) => {
      if (isOfStore(error)) throw error;
      reconciled.not_taken.push({ event_id, why: (error as Error).message });
    });
  }
  for await (const { id: event_id, notices, unreadable } of provider.eventsSince(since_ms)) {
    reconciled.events += 1;
    if (unreadable !== null) reconciled.not_taken.push({ event_id, why: unreadable });
    const before = appended;
    for (const notice of notices) {
      if ('payment_id' in notice) known.add(notice.payment_id);
      await take(event_id, notice);
    }
    if (appended > before) reconciled.taken.push({ event_id, notices: notices.map(wordsOf) });
  }
  for await (const { type, stream, data } of log.readAll({ filter: { categories: ['payment'] } })) {
    if (type !== 'PaymentReceived' || known.has(idOf(stream))) continue;
    const { user_id, amount_cents, currency, paid_at, provider: of } = data as PaymentReceived;
    // The provider's time may be a second before that of its event.
    if (of !== provider.name || Date.parse(paid_at) < since_ms) continue;
    reconciled.in_log_alone.push({ payment_id: idOf(stream), user_id, amount_cents, currency, paid_at });
  }
  return reconciled;
}

const wordsOf = (notice: PaymentNotice): string =>
  'payment_id' in notice ? `${notice.type} ${notice.payment_id}` : notice.type;

function textOf({ events, taken, not_taken, in_log_alone }: Reconciled): string {
  const lines = [
    `${count(events, 'event')} of the provider: ${taken.length} of them were not in the log, and are now`,
    ...taken.map(({ event_id, notices }) => `  taken: ${event_id} (${notices.join(', ')})`),
    ...not_taken.map(({ event_id, why }) => `  not taken: ${event_id}: ${why}`),
    ...in_log_alone.map(
      ({ payment_id, user_id, amount_cents, currency, paid_at }) =>
        `  in the log alone${not_taken.length > 0 ? ', or in an event that was not taken' : ''}: ${payment_id} of ${user_id}, ${amount_cents} ${currency} at ${paid_at}`,
    ),
    in_log_alone.length === 0
      ? 'ok: the log has no payment that the provider does not know'
      : `${count(in_log_alone.length, 'payment')} in the log alone`,
  ];
  return `${lines.join('\n')}\n`;
}
