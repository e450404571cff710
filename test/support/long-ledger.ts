// A ledger of any length, appended straight to a log: jobs that reserve, every third of which gives some back, and a grant
// now and then.
import { randomUUID } from 'node:crypto';
import { stamp } from '../../commands/aggregate.ts';
import { type CreditsCommand, decide, evolve, initial, seal } from '../../commands/ledger/credits.ts';
import type { CreditsEvent } from '../../events/credits.ts';
import type { EventStore, ExpectedRevision, NewEvent } from '../../events/event-store.ts';
import { creditsStream } from '../../events/streams.ts';
import { appendRuns } from './append-runs.ts';
import { commandContext } from './stores.ts';

export interface LongLedger {
  user_id: string;
  entries: number;
  /** Reserved by the ledger's first job, which nothing was given back of: `jobId(0)`. */
  first_reserved: number;
}

export const jobId = (n: number) => `job-${n}`;
const RESERVED = 10;
const GRANT_EVERY = 5_000;

/** `change` may alter each entry before it is appended. */
export async function appendLongLedger(
  log: EventStore,
  entries: number,
  change: (event: CreditsEvent) => CreditsEvent = (event) => event,
): Promise<LongLedger> {
  const user_id = `user-${randomUUID()}`;
  const stream = creditsStream(user_id);
  const context = commandContext();
  const credits = initial();
  let revision: ExpectedRevision = 'no_stream';
  let held: NewEvent[] = [];
  const flush = async () => {
    for (const run of appendRuns(held)) {
      const result = await log.append(stream, revision, run);
      if (!result.ok) throw new Error('somebody else writes to this ledger');
      revision = result.revision;
    }
    held = [];
  };
  const run = (command: CreditsCommand) => {
    const decision = decide(credits, command, context.now);
    if ('refused' in decision) throw new Error(decision.refused.message);
    const first = credits.entries;
    for (const event of seal(credits, stream, first, stamp(decision.events, context, stream, first))) {
      evolve(credits, event as unknown as CreditsEvent);
      held.push({ ...event, ...change(event as unknown as CreditsEvent) });
    }
  };
  for (let n = 0; credits.entries < entries; n += 1) {
    if (n % GRANT_EVERY === 0) {
      const amount = GRANT_EVERY * RESERVED;
      run({ type: 'grant', transaction_type: 'purchase', reference_id: `p${n}`, amount, expires_at: null });
    }
    const job_id = jobId(n);
    const reservation_id = `${job_id}:0`;
    run({ type: 'reserve', reservation_id, job_id, up_to: RESERVED });
    if (n % 3 === 1) run({ type: 'refund', job_id, reservation_ids: [reservation_id], amount: 4 });
    if (held.length >= 900) await flush();
  }
  if (held.length > 0) await flush();
  return { user_id, entries: credits.entries, first_reserved: RESERVED };
}

/** The log, and how many events were read of it. */
export function counting(log: EventStore): { log: EventStore; read(): number } {
  let read = 0;
  const counted: EventStore = {
    append: (...args) => log.append(...args),
    async *readStream(...args) {
      for await (const event of log.readStream(...args)) {
        read += 1;
        yield event;
      }
    },
    readAll: (...args) => log.readAll(...args),
    subscribe: (...args) => log.subscribe(...args),
    head: () => log.head(),
    deleteStream: (...args) => log.deleteStream(...args),
    close: () => log.close(),
  };
  return { log: counted, read: () => read };
}
