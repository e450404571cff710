// Requests with an idempotency key, whatever becomes of the process that works on them: one job, charged once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { SubmittedOnce } from '../../../commands/jobs/submit-once.ts';
import type { EventStore, RecordedEvent } from '../../../events/event-store.ts';
import type { JobCreated } from '../../../events/job.ts';
import { creditsStream, jobStream, urlsStream } from '../../../events/streams.ts';
import { openTestStores } from '../../support/stores.ts';
import {
  DAY_MS,
  dyingAt,
  GRANTED,
  grant,
  Killed,
  LEASE_MS,
  NOW,
  openProcess,
  URLS,
} from '../../support/submitting-process.ts';

/** The claim, three appends of the listing, the reservation, the job, the answer. */
const STEPS = 7;

async function start(t: ExecutionContext, granted = GRANTED) {
  const { log } = await openTestStores(t);
  const process = openProcess(log);
  await grant(process, granted);
  return { log, process };
}

async function eventsOf(log: EventStore, type: string): Promise<RecordedEvent[]> {
  return await Array.fromAsync(log.readAll({ filter: { categories: ['job', 'urls', 'idempotency'], types: [type] } }));
}

/** One job, of all its URLs, that has its credits; nothing else is charged and no other listing is left. */
async function assertOneJob(t: ExecutionContext, log: EventStore, answer: SubmittedOnce): Promise<void> {
  const created = await eventsOf(log, 'JobCreated');
  t.is(created.length, 1);
  const job = created[0]!.data as JobCreated;
  if (!answer.ok) return t.fail(answer.refused.message);
  t.deepEqual(answer.answer, {
    job_id: job.job_id,
    status: 201,
    body: { job_id: job.job_id, created_at: Date.parse(created[0]!.metadata.at), urls: URLS.length },
  });
  t.is(job.credits_allocated, URLS.length);
  const listed = (await eventsOf(log, 'UrlsListed')).map(({ stream }) => stream);
  t.deepEqual([...new Set(listed)], [urlsStream(job.job_id)]);
  const entries = await Array.fromAsync(log.readStream(creditsStream('alice')));
  const { balance_after } = entries.at(-1)!.data as { balance_after: number };
  t.is(balance_after, GRANTED - URLS.length);
}

for (const when of ['before', 'after'] as const) {
  test(`a process that is killed ${when} any step: the next one gives the same answer to the same request`, async (t) => {
    let steps = 0;
    for (let n = 1; ; n++) {
      const { log } = await start(t);
      const dying = dyingAt(log, n, when);
      const first = await openProcess(dying)
        .submit()
        .catch((error: unknown) => error);
      if (!dying.is_dead()) break;
      steps++;
      t.true(first instanceof Killed, `step ${n}: ${first}`);
      const made = await eventsOf(log, 'JobCreated');
      const told = await eventsOf(log, 'RequestAnswered');

      const next = openProcess(log);
      if ((await eventsOf(log, 'RequestClaimed')).length > 0 && told.length === 0) {
        const early = await next.submit({ now: NOW + LEASE_MS - 1 });
        t.like(early, { ok: false, refused: { code: 'idempotency_in_progress', left_ms: 1 } });
      }
      const answer = await next.submit({ now: NOW + LEASE_MS });
      await assertOneJob(t, log, answer);
      if (made.length > 0) t.is(answer.ok && answer.answer.job_id, (made[0]!.data as JobCreated).job_id);
      t.deepEqual(await next.submit({ now: NOW + LEASE_MS }), { ...answer, replayed: true } as SubmittedOnce);
      await assertOneJob(t, log, await openProcess(log).submit({ now: NOW + DAY_MS - 1 }));
    }
    t.is(steps, STEPS);
  });
}

test('a process that is killed at any step leaves a request that the next one completes', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-killed-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const program = join(import.meta.dirname, '../../support/submitting-process.ts');
  for (const when of ['before', 'after'] as const) {
    for (let n = 1; n <= STEPS; n++) {
      const path = join(folder, `${when}-${n}.db`);
      const log = await openSqliteEventStore({ path });
      await grant(openProcess(log), GRANTED);
      const child = spawn(process.execPath, [program, path, String(n), when], {
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      t.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'], `step ${n}`);
      await assertOneJob(t, log, await openProcess(log).submit({ now: NOW + LEASE_MS }));
      await log.close();
    }
  }
});

test("a process that is killed while it completes another one's request is completed in turn", async (t) => {
  for (let n = 1; ; n++) {
    const { log } = await start(t);
    await openProcess(dyingAt(log, 5, 'after'))
      .submit()
      .catch(() => {});
    const dying = dyingAt(log, n, 'after');
    await openProcess(dying)
      .submit({ now: NOW + LEASE_MS })
      .catch(() => {});
    await assertOneJob(t, log, await openProcess(log).submit({ now: NOW + 2 * LEASE_MS }));
    if (!dying.is_dead()) break;
  }
});

test('a claim of a process that died does not last for as long as the clock is set back', async (t) => {
  const { log } = await start(t);
  await openProcess(dyingAt(log, 1, 'after'))
    .submit({ now: NOW + DAY_MS / 12 })
    .catch(() => {});
  t.is((await eventsOf(log, 'RequestClaimed')).length, 1);
  await assertOneJob(t, log, await openProcess(log).submit());
});

/** Runs `meanwhile` before the n-th append. */
function pausedAt(log: EventStore, n: number, meanwhile: () => Promise<unknown>): EventStore & { appends(): number } {
  let appends = 0;
  return {
    ...log,
    appends: () => appends,
    readStream: (...given) => log.readStream(...given),
    deleteStream: (stream) => log.deleteStream(stream),
    async append(...given) {
      if (++appends === n) await meanwhile();
      return await log.append(...given);
    },
  };
}

test('a request that lost its key and resumes from any step makes no second job', async (t) => {
  for (let n = 2; ; n++) {
    const { log } = await start(t);
    const slow = pausedAt(log, n, () => openProcess(log).submit({ now: NOW + LEASE_MS }));
    const first = await openProcess(slow)
      .submit()
      .catch((error: unknown) => error as Error);
    if (slow.appends() < n) break;
    const told =
      first instanceof Error ? ((first as { code?: string }).code ?? first.message) : first.ok || first.refused.code;
    t.true(['unavailable', 'reservation_voided', true].includes(told), `step ${n}: ${told}`);
    await assertOneJob(t, log, await openProcess(log).submit({ now: NOW + LEASE_MS }));
  }
});

test('fifty equal requests at once, in two processes, make one job', async (t) => {
  const { log } = await start(t);
  const processes = [openProcess(log), openProcess(log)];
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => processes[i % 2]!.submit()));
  const fresh = answers.filter((answer) => answer.ok && !answer.replayed);
  t.is(fresh.length, 1);
  for (const answer of answers) {
    if (answer.ok) t.deepEqual(answer.answer, (fresh[0] as { answer: unknown }).answer as typeof answer.answer);
    else t.is(answer.refused.code, 'idempotency_in_progress');
  }
  await assertOneJob(t, log, await processes[0]!.submit());
});

test('a key with another body is refused, whether its request ended, runs or broke off', async (t) => {
  const { log, process } = await start(t);
  const mismatch = { ok: false, refused: { code: 'idempotency_key_mismatch' } } as const;
  const during = async () => void t.like(await process.submit({ fingerprint: 'g' }), mismatch);
  t.true((await process.submit({ during })).ok);
  t.like(await process.submit({ fingerprint: 'g' }), mismatch);
  const scope = { key: 'broken off' };
  await openProcess(dyingAt(log, 3, 'after'))
    .submit({ scope })
    .catch(() => {});
  t.like(await process.submit({ scope, fingerprint: 'g', now: NOW + LEASE_MS }), mismatch);
});

test('after 24 hours a key is new, to the millisecond', async (t) => {
  const { process } = await start(t);
  const first = await process.submit();
  t.deepEqual(await process.submit({ now: NOW + DAY_MS - 1 }), { ...first, replayed: true } as SubmittedOnce);
  const later = await process.submit({ now: NOW + DAY_MS, fingerprint: 'g' });
  t.like(later, { ok: true, replayed: false });
  t.not(later.ok && later.answer.job_id, first.ok && first.answer.job_id);
});

test('a refused request frees its key, for another body too', async (t) => {
  const { log, process } = await start(t, 0);
  t.like(await process.submit({ urls: [] }), { ok: false, refused: { code: 'no_urls' } });
  t.like(await process.submit({ fingerprint: 'g' }), { ok: false, refused: { code: 'no_credits' } });
  await grant(process, GRANTED);
  await assertOneJob(t, log, await process.submit({ fingerprint: 'h' }));
});

test('keys of other users, routes and methods are other keys', async (t) => {
  const { process } = await start(t);
  await grant(process, GRANTED, 'bob');
  const ids = new Set<string>();
  for (const scope of [{}, { user_id: 'bob' }, { route: '/api/v2/jobs/wait' }, { method: 'PUT' }, { key: 'K' }]) {
    const answer = await process.submit({ scope, urls: URLS.slice(0, 5) });
    t.like(answer, { ok: true, replayed: false });
    if (answer.ok) ids.add(answer.answer.job_id);
  }
  t.is(ids.size, 5);
});

test('the id of a job does not come from its key', async (t) => {
  const one = await start(t);
  const other = await start(t);
  const ids = await Promise.all([one, other].map(async ({ process }) => process.submit()));
  t.not(ids[0]!.ok && ids[0]!.answer.job_id, ids[1]!.ok && ids[1]!.answer.job_id);
  t.is((await Array.fromAsync(one.log.readStream(jobStream('alice')))).length, 0);
});
