// How fast `ledger verify` replays a ledger, and with how much memory: `node bench/ledger-audit.ts [ENTRIES...]`. Each size is a log of its own, of
// jobs of 10 URLs by a user for each 200 entries. Half of the jobs are cancelled and refunded.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openLedgerAudit } from '../audit/ledger-audit.ts';
import { openSource } from '../cli/ops/ledger-options.ts';
import { metadataOf } from '../commands/aggregate.ts';
import { type Credits, type CreditsCommand, decide, evolve, initial, seal } from '../commands/ledger/credits.ts';
import { foldRange } from '../events/checked-range.ts';
import type { CreditsEvent } from '../events/credits.ts';
import type { EventStore, ExpectedRevision, NewEvent } from '../events/event-store.ts';
import { checksStream, creditsStream, jobStream } from '../events/streams.ts';
import { FOUND } from '../test/support/behind.ts';
import { commandContext } from '../test/support/stores.ts';

const URLS = 10;
const ENTRIES_A_USER = 200;
const AT_ONCE = 500;
const SIZES = [250_000, 1_000_000];

interface Measured {
  entries: number;
  events: number;
  seconds: number;
  /** Of the processor. */
  cpu_seconds: number;
  /** Of that, the thread that judges: the one that reads, parses and hashes has most of the rest. */
  judging_seconds: number;
  max_rss_mb: number;
  violations: number;
}

if (process.argv[2] === '--measure') console.log(JSON.stringify(await measure(process.argv[3]!)));
else {
  for (const entries of process.argv.length > 2 ? process.argv.slice(2).map(Number) : SIZES) {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-audit-'));
    try {
      await fill(folder, entries);
      const args = [fileURLToPath(import.meta.url), '--measure', folder];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { events, seconds, cpu_seconds, judging_seconds, max_rss_mb, violations, ...found } = JSON.parse(
        stdout,
      ) as Measured;
      const per_s = Math.round(found.entries / seconds).toLocaleString('en');
      console.log(
        `${found.entries.toLocaleString('en')} entries, ${events.toLocaleString('en')} events: ${seconds.toFixed(1)} s (${cpu_seconds.toFixed(1)} s of the processor, ${judging_seconds.toFixed(1)} in the thread that judges), ` +
          `${per_s} entries/s, ${max_rss_mb} MB, ${violations} violations`,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  }
}

/** In a process of its own, whose memory is the audit's. */
async function measure(folder: string): Promise<Measured> {
  const env = { DATA_DIR: folder };
  const [out, err] = [process.stdout, process.stderr];
  const source = await openSource({ values: {}, arguments: [], env, json: false, folder, in: process.stdin, out, err });
  const audit = openLedgerAudit({ found: () => {} });
  const began = performance.now();
  const [cpu, judging] = [process.cpuUsage(), process.threadCpuUsage()];
  for await (const page of source.digests!()) audit.takeDigests(page);
  const { entries, events, violations } = audit.finish();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  audit.close();
  await source.close();
  const cpu_seconds = (user + system) / 1e6;
  const judged = process.threadCpuUsage(judging);
  return {
    entries,
    events,
    seconds,
    cpu_seconds,
    judging_seconds: (judged.user + judged.system) / 1e6,
    violations,
    max_rss_mb: Math.round(process.resourceUsage().maxRSS / 1024),
  };
}

async function fill(folder: string, entries: number): Promise<void> {
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const users = Array.from({ length: Math.ceil(entries / ENTRIES_A_USER) }, (_, n) => n);
  for (let from = 0; from < users.length; from += AT_ONCE) {
    await Promise.all(users.slice(from, from + AT_ONCE).map((user) => fillUser(log, `user-${user}`)));
  }
  await log.close();
}

async function fillUser(log: EventStore, user_id: string): Promise<void> {
  const credits: Credits = initial();
  const context = commandContext();
  const metadata = metadataOf(context);
  let revision: ExpectedRevision = 'no_stream';
  const run = async (...commands: CreditsCommand[]) => {
    const events: NewEvent[] = [];
    for (const command of commands) {
      const decision = decide(credits, command, context.now);
      if ('refused' in decision) throw new Error(decision.refused.message);
      const made = decision.events.map((event) => ({ ...event, id: randomUUID(), metadata }));
      for (const event of seal(credits, creditsStream(user_id), credits.entries, made)) {
        evolve(credits, event as unknown as CreditsEvent);
        events.push(event);
      }
    }
    const appended = await log.append(creditsStream(user_id), revision, events);
    if (!appended.ok) throw new Error('somebody else writes to this log');
    revision = appended.revision;
  };
  const append = (stream: string, expected: ExpectedRevision, type: string, data: object) =>
    log.append(stream, expected, [{ id: randomUUID(), type, data, metadata }]);
  const bonus = { type: 'grant', transaction_type: 'signup_bonus', reference_id: user_id, expires_at: null } as const;
  const urls = Array.from({ length: URLS }, (_, n) => `https://a.example/${n}`);
  let settle: CreditsCommand[] = [{ ...bonus, amount: ENTRIES_A_USER * URLS }];
  for (let n = 0; credits.entries < ENTRIES_A_USER; n += 1) {
    const job_id = randomUUID();
    const reservation_id = `${job_id}:0`;
    await run(...settle, { type: 'reserve', reservation_id, job_id, up_to: URLS });
    const created = { job_id, owner_id: user_id, total_urls: URLS, credits_allocated: URLS, reservation_id };
    await append(jobStream(job_id), 'no_stream', 'JobCreated', created);
    const checked = n % 2 === 0 ? URLS : URLS / 2;
    const data = foldRange(job_id, 0, urls.slice(0, checked), Array(checked).fill(FOUND));
    await append(checksStream(job_id, 0), 'no_stream', 'URLChecked', data);
    const is_whole = checked === URLS;
    await append(
      jobStream(job_id),
      0,
      is_whole ? 'JobCompleted' : 'JobCancelled',
      is_whole ? { completed_urls: checked } : {},
    );
    settle = is_whole ? [] : [{ type: 'refund', job_id, reservation_ids: [reservation_id], amount: URLS - checked }];
  }
  if (settle.length > 0) await run(...settle);
}
