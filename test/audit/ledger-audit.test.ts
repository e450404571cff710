// The audit passes what the service writes, and names each entry that somebody has changed.
import test, { type ExecutionContext } from 'ava';
import { openPacker } from '../../audit/digests.ts';
import type { Rule } from '../../audit/findings.ts';
import { AUDITED } from '../../audit/ledger-audit.ts';
import { GrowingTree, leafOf } from '../../audit/merkle.ts';
import type { LedgerAudit } from '../../audit/types.ts';
import { entryHash } from '../../events/credits.ts';
import type { EventRow, EventStore, RecordedEvent } from '../../events/event-store.ts';
import { audited, auditOf, rehashed, rowOf, rulesOf, UNREADABLE } from '../support/audited.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { leastCpuMs } from '../support/cpu-time.ts';
import { openTestStores } from '../support/stores.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-01-31T09:00:00Z');

/** Copies, because a test changes them. */
const eventsOf = async (log: EventStore): Promise<RecordedEvent[]> =>
  (await Array.fromAsync(log.readAll({ filter: { categories: AUDITED } }))).map((event) => structuredClone(event));

async function filled(t: ExecutionContext): Promise<RecordedEvent[]> {
  const { log } = await openTestStores(t);
  await fillLedger(log);
  return eventsOf(log);
}

test('what the service writes breaks no rule, also with almost nothing in memory', async (t) => {
  const events = await filled(t);
  const clean = auditOf(events);
  const { found, report, balances } = clean;
  t.deepEqual(found, []);
  t.deepEqual(auditOf(events, { in_memory: 2 }), clean);
  t.is(report.entries, events.filter(({ stream }) => stream.startsWith('credits-')).length);
  t.is(report.accounts, 2);
  const balance = 1_000 - 25 - 12 - 10 - 7 - 100 - 20;
  t.deepEqual(
    balances.map((each) => [each.user_id, each.balance]),
    [
      ['alice', balance],
      ['bob', balance],
    ],
  );
  t.is(report.balance, 2 * balance);
  t.is(report.position, events.at(-1)!.position);
});

test('a changed entry is named by its position, and no other one', async (t) => {
  const events = await filled(t);
  for (const [n, event] of events.entries()) {
    if (!event.stream.startsWith('credits-')) continue;
    const changed = structuredClone(event);
    changed.metadata.actor = 'admin:mallory';
    const { found } = auditOf(events.with(n, changed));
    t.deepEqual(
      found.map(({ rule, position, stream, revision }) => ({ rule, position, stream, revision })),
      [{ rule: 'chain', position: event.position, stream: event.stream, revision: event.revision }],
    );
  }
});

type Change = (data: Record<string, unknown>) => Record<string, unknown>;
const CHANGES: [what: string, type: string, change: Change, rule: Rule][] = [
  ['a larger grant', 'CreditsGranted', (data) => ({ ...data, amount: 5_000 }), 'balance'],
  ['a grant of another payment', 'CreditsGranted', (data) => ({ ...data, reference_id: 'pi-other' }), 'payment'],
  ['a smaller reservation', 'CreditsReserved', (data) => ({ ...data, amount: -1 }), 'reservation'],
  [
    'credits from another lot',
    'CreditsReserved',
    (data) => ({ ...data, parts: [{ lot_id: 'x', amount: 25 }] }),
    'lots',
  ],
  ['a refund to another job', 'CreditsRefunded', (data) => ({ ...data, reference_id: 'other' }), 'refund'],
  [
    'a smaller refund',
    'CreditsRefunded',
    (data) => ({ ...data, amount: 27, parts: [{ lot_id: 'purchase:pi-alice', amount: 27 }] }),
    'settlement',
  ],
  [
    'a refund to another key',
    'CreditsRefunded',
    (data) => ({ ...data, of_keys: [{ key_id: 'x', amount: 28 }] }),
    'refund',
  ],
  ['a job with more credits', 'JobCreated', (data) => ({ ...data, credits_allocated: 26 }), 'reservation'],
  ['a job with more URLs', 'JobCompleted', (data) => ({ ...data, completed_urls: 24 }), 'settlement'],
  ['fewer results', 'URLChecked', (data) => ({ ...data, response_times_ms: [1] }), 'settlement'],
  ['a smaller payment', 'PaymentReceived', (data) => ({ ...data, credits: 10 }), 'payment'],
  ['a smaller reversal', 'PaymentReversed', (data) => ({ ...data, amount_cents: 10 }), 'payment'],
];

test('a change is found although every hash was computed anew', async (t) => {
  const events = await filled(t);
  const clean = auditOf(events).report;
  t.deepEqual(auditOf(rehashed(events)).found, []);
  for (const [what, type, change, rule] of CHANGES) {
    const n = events.findIndex((event) => event.type === type);
    const changed = { ...events[n]!, data: change(events[n]!.data as Record<string, unknown>) };
    // Long after, so that nothing may still be in progress.
    const last = events.findLastIndex(({ stream }) => stream.startsWith('job-'));
    const at = new Date(START + 9 * HOUR_MS).toISOString();
    const later = { ...events[last]!, metadata: { ...events[last]!.metadata, at } };
    const forged = rehashed(events.with(last, later).with(n, changed));
    const { found, report } = auditOf(forged);
    t.true(rulesOf(found).includes(rule), `${what}: ${JSON.stringify(found)}`);
    if (changed.stream.startsWith('credits-')) t.not(report.root_hash, clean.root_hash, what);
  }
});

test('a reservation of another key is found by what goes back to keys, of a job and of none', async (t) => {
  const events = await filled(t);
  for (const [n, { type, data, position }] of events.entries()) {
    if (type !== 'CreditsReserved' || !Object.hasOwn(data as object, 'key_id')) continue;
    for (const key_id of ['x', undefined]) {
      const { found } = auditOf(rehashed(events.with(n, { ...events[n]!, data: { ...(data as object), key_id } })));
      t.true(found.length === 1 && found[0]!.position! > position, `${n}: ${JSON.stringify(found)}`);
    }
  }
});

test('a missing, a repeated and a foreign entry are found', async (t) => {
  const events = await filled(t);
  const entries = events.entries().filter(([, { stream, revision }]) => stream === 'credits-alice' && revision > 0);
  for (const [n, event] of entries) {
    const { found } = auditOf(events.toSpliced(n, 1));
    // A last entry that is cut off is found by the jobs, the payments and the signed heads.
    const next = events.find((each) => each.stream === event.stream && each.revision === event.revision + 1);
    if (next) t.true(found.some(({ rule, position }) => rule === 'revisions' && position === next.position));
    t.true(rulesOf(auditOf(events.toSpliced(n, 0, event)).found).includes('revisions'));
    t.true(rulesOf(auditOf(events.with(n, { ...event, stream: 'credits-bob' })).found).includes('revisions'));
  }
});

test('a type or a time that is none is named, and leaves no trace in the program', async (t) => {
  const events = await filled(t);
  const named = (changed: readonly RecordedEvent[], n: number) =>
    auditOf(changed).found.some(({ rule, position }) => rule === 'unreadable' && position === events[n]!.position);
  for (const transaction_type of ['__proto__', 'toString', 'signup_bonus']) {
    const n = events.findIndex(({ type }) => type === 'CreditsReserved');
    const changed = { ...events[n]!, data: { ...(events[n]!.data as object), transaction_type } };
    t.true(named(rehashed(events.with(n, changed)), n), transaction_type);
  }
  t.false('entries' in {});
  for (const category of ['credits', 'job', 'payment']) {
    const n = events.findIndex(({ stream }) => stream.startsWith(`${category}-`));
    const metadata = { ...events[n]!.metadata, at: 'yesterday' };
    t.true(named(events.with(n, { ...events[n]!, metadata }), n), category);
  }
  for (const [n, event] of events.entries()) {
    const { found, report } = auditOf(events.with(n, { ...event, type: `${event.type}x` }));
    // Its type alone may be one of a later version; the hash of an entry covers it.
    t.is(report.later, 1);
    if (event.stream.startsWith('credits-'))
      t.true(found.some(({ rule, position }) => rule === 'chain' && position === event.position));
  }
});

test('each head is compared, also one whose last entry is of a later version', async (t) => {
  const events = await filled(t);
  const place = { position: '', stream: 'ledger_heads-log', revision: 0 };
  const later = events.findIndex(({ type }) => type === 'CreditsReserved');
  const changed = rehashed(events.with(later, { ...events[later]!, type: 'CreditsHeld' }));
  const tree = new GrowingTree();
  const heads = changed.flatMap(({ stream, data }) => {
    if (!stream.startsWith('credits-')) return [];
    tree.add(leafOf((data as { hash: string }).hash));
    return [{ tree_size: tree.size, root_hash: tree.root().toString('hex'), place }];
  });
  const { found, report } = auditOf(changed, { heads: heads as never });
  t.deepEqual(
    found.filter(({ rule }) => rule === 'head' || rule === 'chain'),
    [],
  );
  t.is(report.later, 1);
  t.is(report.heads_checked, heads.length);
});

test('an entry that cannot be read is named, and the ones after it are not blamed for it', async (t) => {
  const events = await filled(t);
  const n = events.findIndex(({ type }) => type === 'CreditsReserved');
  const broken = structuredClone(events[n]!);
  Object.defineProperty(broken, 'data', { get: () => JSON.parse(UNREADABLE) });
  const { found } = auditOf(events.with(n, broken));
  t.deepEqual([found[0]!.rule, found[0]!.position], ['unreadable', broken.position]);
  t.false(rulesOf(found).includes('revisions'));
});

test('a byte changed in the text of an entry is found where the thread reads ahead, whatever it makes of the JSON', async (t) => {
  const events = await filled(t);
  const n = events.findIndex(({ type }) => type === 'CreditsReserved');
  const [rowid, revision, type, id, metadata, data, stream] = rowOf(events[n]!, n);
  const rows = events.map(rowOf);
  const found = (changed: EventRow) => {
    const take = (audit: LedgerAudit) =>
      audit.takeDigests(openPacker((at) => events[at]!.position)(rows.with(n, changed)));
    return audited({}, take).found;
  };
  t.deepEqual(found(rows[n]!), []);
  for (let place = 0; place < data.length; place += 1) {
    const changed = `${data.slice(0, place)}${data[place] === '1' ? '2' : '1'}${data.slice(place + 1)}`;
    const [first] = found([rowid, revision, type, id, metadata, changed, stream]);
    t.is(first?.position, events[n]!.position, changed);
  }
  // Texts that are JSON only between those of others, and a field that comes twice.
  for (const changed of [`${data},${data}`, `${data}]`, `{"amount":-2,${data.slice(1, -1)},"amount":-1}`])
    t.is(found([rowid, revision, type, id, metadata, changed, stream])[0]?.position, events[n]!.position, changed);
});

test('an entry whose hash is computed of what the thread notes of a ledger that it has lost is found', async (t) => {
  const events = await filled(t);
  const n = events.findIndex(({ type }) => type === 'CreditsReserved');
  const { stream } = events[n]!;
  const next = events.findIndex((event, place) => place > n && event.stream === stream);
  const withHash = (event: RecordedEvent, hash: string) => ({ ...event, data: { ...(event.data as object), hash } });
  const forged = withHash(events[next]!, entryHash('?', events[next]!));
  const { found } = auditOf(events.with(n, withHash(events[n]!, 'lost')).with(next, forged));
  t.deepEqual(
    found
      .filter(({ rule }) => rule === 'chain')
      .map(({ position }) => position)
      .slice(0, 2),
    [events[n]!.position, forged.position],
  );
});

test('steps that the service still has to do are no violations, until they are late', async (t) => {
  const { log } = await openTestStores(t);
  const filler = openFiller(log, START);
  await filler.buy('alice', 'pi-1', 100);
  await filler.job('alice', 40, 12, 'cancelled');
  await filler.credits.run(
    'alice',
    { type: 'reserve', reservation_id: 'lost:0', job_id: 'lost', up_to: 5 },
    filler.context(),
  );
  const events = await eventsOf(log);
  const early = auditOf(events);
  t.deepEqual(early.found, []);
  t.deepEqual(early.report.open, { reservations: 1, jobs: 1, payments: 0 });
  await openFiller(log, START + 3 * HOUR_MS).buy('bob', 'pi-2', 1);
  const late = auditOf(await eventsOf(log));
  t.deepEqual(rulesOf(late.found).sort(), ['reservation', 'settlement']);
});

test('a reservation that is stored after its job was made to refuse it may be released', async (t) => {
  const { log } = await openTestStores(t);
  const { buy, credits, jobs, context } = openFiller(log, START);
  await buy('alice', 'pi-1', 100);
  for (const job_id of ['late', 'free']) {
    const reservation_id = `${job_id}:0`;
    if (job_id === 'late') await jobs.run(job_id, { type: 'voidReservation', reservation_id }, context());
    await credits.run('alice', { type: 'reserve', reservation_id, job_id, up_to: 5 }, context());
    await credits.run('alice', { type: 'release', reservation_id }, context());
  }
  const { found } = auditOf(await eventsOf(log));
  t.deepEqual(
    found.map(({ message }) => message),
    ['reservation free:0 is released, but its job could still use it'],
  );
});

test('each end of a job that is paid twice, released twice or released although it is used is found', async (t) => {
  const { log } = await openTestStores(t);
  const filler = openFiller(log, START);
  await filler.buy('alice', 'pi-1', 100);
  const job_id = await filler.job('alice', 40, 12, 'running');
  await filler.credits.run('alice', { type: 'release', reservation_id: `${job_id}:0` }, filler.context());
  const { found } = auditOf(await eventsOf(log));
  t.deepEqual(rulesOf(found), ['reservation']);
  t.regex(found[0]!.message, /is released, but job .* uses it/);
});

test('the results of a deleted job may be gone', async (t) => {
  const { log } = await openTestStores(t);
  const filler = openFiller(log, START);
  await filler.buy('alice', 'pi-1', 100);
  const job_id = await filler.job('alice', 40, 12, 'cancelled');
  await filler.settle('alice', job_id, 40, 12);
  await log.deleteStream(`checks-${job_id}-0`);
  t.deepEqual(rulesOf(auditOf(await eventsOf(log)).found), ['settlement'], 'results are missing');
  await filler.jobs.run(job_id, { type: 'delete' }, filler.context());
  const { found, report } = auditOf(await eventsOf(log));
  t.deepEqual(found, []);
  t.is(report.jobs_purged, 1);
});

test('as many jobs are deleted whether the store still shows their results or not', async (t) => {
  const { log } = await openTestStores(t);
  const filler = openFiller(log, START);
  await filler.buy('alice', 'pi-1', 100);
  const job_id = await filler.job('alice', 40, 12, 'cancelled');
  await filler.settle('alice', job_id, 40, 12);
  await filler.jobs.run(job_id, { type: 'delete' }, filler.context());
  // EventStoreDB shows the events of deleted streams in reads of the whole log until a scavenge; SQLite shows none.
  const { report: shown } = auditOf(await eventsOf(log));
  await log.deleteStream(`checks-${job_id}-0`);
  const { report: gone } = auditOf(await eventsOf(log));
  t.deepEqual(
    [shown, gone].map(({ jobs, jobs_purged, violations }) => [jobs, jobs_purged, violations]),
    [
      [1, 1, 0],
      [1, 1, 0],
    ],
  );
});

/** An account of as many adjustments: the first half add a credit each, and the others take them away again. */
function adjusted(entries: number): RecordedEvent[] {
  const half = entries / 2;
  const id = (n: number) => `adjustment:${n}`;
  const at = new Date(START).toISOString();
  return rehashed(
    Array.from({ length: entries }, (_, n): RecordedEvent => {
      const is_added = n < half;
      return {
        ...{ id: id(n), type: 'CreditsAdjusted', stream: 'credits-alice', revision: n, position: id(n) },
        data: {
          ...{ transaction_id: id(n), transaction_type: 'adjustment', reference_id: id(n), reason: 'a test' },
          ...(is_added
            ? { amount: 1, balance_after: n + 1, parts: [] }
            : { amount: -1, balance_after: entries - n - 1, parts: [{ lot_id: id(n - half), amount: 1 }] }),
        },
        metadata: { command_id: 'c', causation_id: 'c', actor: 'admin:test', at },
      };
    }),
  );
}

test('the time for an account grows with its entries, and not with their square', (t) => {
  const cpuMs = (entries: number) => {
    const events = adjusted(entries);
    const take = (audit: LedgerAudit) => {
      for (const event of events) audit.take(event);
    };
    return leastCpuMs(() => t.deepEqual(audited({}, take).found, []));
  };
  const [few_ms, many_ms] = [cpuMs(2_000), cpuMs(32_000)];
  t.true(many_ms < 60 * few_ms, `16 times the entries took ${many_ms / few_ms} times the time`);
});

test('credits that go back to an emptied lot are spent in its turn again, and an adjustment counts once', (t) => {
  const events = adjusted(4);
  const { data, ...last } = events[3]!;
  const wrong_lot = { ...(data as object), parts: [{ lot_id: 'adjustment:0', amount: 1 }] };
  t.deepEqual(rulesOf(auditOf(rehashed(events.with(3, { ...last, data: wrong_lot }))).found), ['lots']);
  const twice = { ...(data as object), transaction_id: 'adjustment:2' };
  const { found } = auditOf(rehashed(events.with(3, { ...last, data: twice })));
  t.deepEqual(rulesOf(found), ['lots']);
  t.regex(found[0]!.message, /comes twice/);
});
