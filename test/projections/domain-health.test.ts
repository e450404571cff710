// The read model of domains: the same whatever batches the log comes in, and read in every order that can be asked for.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { ERROR_CODES, type URLChecked, VERDICTS } from '../../events/checks.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { checksStream } from '../../events/streams.ts';
import { domainHealthProjection } from '../../projections/domain-health.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { type DomainHealthDocument, domainHealth, domainHealthPage } from '../../readmodels/domain-health.ts';

type Checked = RecordedEvent<'URLChecked', URLChecked>;

function checkedEvent(index: number, at_ms: number, found: Partial<URLChecked>): Checked {
  const data: URLChecked = {
    ...{ job_id: 'job', index, url: 'https://example.com/', status_code: 200, final_url: 'https://example.com/' },
    ...{ is_broken: false, is_soft_404: false, redirect_chain: [], response_time_ms: 10, content_type: null },
    ...{ error_code: null, verdict: 'ok', protection: null, attempts: 1 },
    ...found,
  };
  const metadata = { command_id: 'c', causation_id: 'c', actor: 'checker', at: new Date(at_ms).toISOString() };
  const position = String(index).padStart(16, '0');
  return {
    id: String(index),
    type: 'URLChecked',
    stream: checksStream('job', 0),
    revision: index,
    position,
    data,
    metadata,
  };
}

async function withDocuments<R>(use: (documents: Documents) => Promise<R>): Promise<R> {
  const folder = await mkdtemp(join(tmpdir(), 'domain-health-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  try {
    return await use(documents);
  } finally {
    await documents.close();
    await rm(folder, { recursive: true });
  }
}

const JOB_STOPPED = {
  ...checkedEvent(1e6, 0, {}),
  type: 'JobCompleted',
  stream: 'job-job',
  data: { completed_urls: 1 },
};

async function apply(documents: Documents, batch: readonly RecordedEvent[]): Promise<void> {
  await documents.transaction((inside) => domainHealthProjection.apply(batch, (spec) => inside.collection(spec)));
}

/** The documents that the events make, a transaction each batch, when the job has stopped. */
function projected(batches: readonly (readonly Checked[])[]): Promise<Map<string, DomainHealthDocument>> {
  return withDocuments(async (documents) => {
    for (const batch of [...batches, [JOB_STOPPED]]) await apply(documents, batch);
    const found = await (await documents.collection(domainHealth)).find({});
    return new Map(found.map((document) => [document._id, document]));
  });
}

const HOSTS = ['a.example', 'A.example', 'b.example:8080', 'bücher.example', 'user@c.example', '127.0.0.1', '[::1]:81'];
const host = fc.oneof(
  fc.constantFrom(...HOSTS),
  fc.nat(60).map((n) => `${n}.example`),
);
const found = fc.record({
  url: fc.tuple(fc.constantFrom('http', 'https'), host).map(([scheme, host]) => `${scheme}://${host}/x?y#z`),
  status_code: fc.constantFrom(200, 301, 404, 503, 999, null),
  is_broken: fc.boolean(),
  response_time_ms: fc.option(fc.nat(15_000)),
  error_code: fc.option(fc.constantFrom(...ERROR_CODES)),
  verdict: fc.constantFrom(...VERDICTS),
});
const log = fc
  .array(fc.tuple(found, fc.nat(1e6)), { minLength: 1, maxLength: 300 })
  .map((all) => all.map(([one, at_ms], i) => checkedEvent(i, at_ms, one)));

test('each domain has what a count by hand of all its events has, whatever batches they came in', async (t) => {
  const property = fc.asyncProperty(log, fc.array(fc.integer({ min: 1, max: 100 })), async (events, sizes) => {
    const batches: Checked[][] = [];
    for (let from = 0; from < events.length; from += batches.at(-1)!.length) {
      batches.push(events.slice(from, from + (sizes[batches.length] ?? 50)));
    }
    const documents = await projected(batches);
    const by_host = Map.groupBy(events, ({ data }) => new URL(data.url).hostname);
    t.deepEqual([...documents.keys()].sort(), [...by_host.keys()].sort());
    for (const [name, of_host] of by_host) assertCounted(t, documents.get(name)!, of_host);
  });
  await fc.assert(property, { numRuns: 40 });
});

function assertCounted(t: ExecutionContext, document: DomainHealthDocument, events: readonly Checked[]): void {
  const all = events.map(({ data }) => data);
  const count = (test: (data: URLChecked) => boolean) => all.filter(test).length;
  const times = all.flatMap(({ response_time_ms }) => response_time_ms ?? []);
  const total_ms = times.reduce((a, b) => a + b, 0);
  const tally = (values: readonly (string | number | null)[]) =>
    Object.fromEntries([...Map.groupBy(values, (value) => value ?? 'none')].map(([value, of]) => [value, of.length]));
  const failures = count(({ is_broken }) => is_broken);
  t.deepEqual(document, {
    _id: document._id,
    checks: all.length,
    failures,
    failure_rate: Number((failures / all.length).toFixed(4)),
    blocked_count: count(({ verdict }) => verdict === 'blocked'),
    avg_response_time_ms: times.length === 0 ? null : Math.round(total_ms / times.length),
    answers: times.length,
    response_time_total_ms: total_ms,
    last_checked_at: events
      .map(({ metadata }) => metadata.at)
      .sort()
      .at(-1)!,
    status_codes: tally(all.map(({ status_code }) => status_code)),
    error_codes: tally(all.flatMap(({ error_code }) => error_code ?? [])),
    verdicts: tally(all.map(({ verdict }) => verdict)),
  });
}

const batchOf = (domains: number, from = 0) =>
  Array.from({ length: domains }, (_, i) => checkedEvent(from + i, 0, { url: `https://${i}.example/` }));

test('a batch of few domains is counted at once, with all that waited before it', async (t) => {
  await withDocuments(async (documents) => {
    const collection = await documents.collection(domainHealth);
    await apply(documents, batchOf(5));
    t.is(await collection.count({}), 5);
    await apply(documents, batchOf(100, 5));
    t.is(await collection.count({}), 5, 'a batch of many domains waits');
    await apply(documents, batchOf(1, 105));
    t.is(await collection.count({}), 100);
    t.is((await collection.get('0.example'))?.checks, 3);
    t.is((await collection.get('99.example'))?.checks, 1);
  });
});

test('batches of many domains wait for some thousands of checks at most', async (t) => {
  await withDocuments(async (documents) => {
    const collection = await documents.collection(domainHealth);
    let checks = 0;
    for (; (await collection.count({})) === 0; checks += 500) await apply(documents, batchOf(500, checks));
    t.true(checks > 1000 && checks <= 11_000, String(checks));
    t.is((await collection.get('0.example'))?.checks, checks / 500);
  });
});

test('a text that is no URL is of no domain', async (t) => {
  t.is((await projected([[checkedEvent(0, 0, { url: 'no url' })]])).size, 0);
});

test('of equal failure rates the domain with the most checks comes first, and few checks are left out', async (t) => {
  const events = [
    ...['a', 'b', 'b', 'c', 'c', 'c'].map((name, i) =>
      checkedEvent(i, 0, { url: `https://${name}.example/${i}`, is_broken: true, status_code: 500 }),
    ),
    checkedEvent(6, 0, { url: 'https://d.example/' }),
  ];
  await withDocuments(async (documents) => {
    const collection = await documents.collection(domainHealth);
    await domainHealthProjection.apply(events, (spec) => documents.collection(spec));
    const page = async (min_checks: number, sort_order: 'asc' | 'desc') => {
      const asked = { min_checks, sort_by: 'failure_rate', sort_order, limit: 10, offset: 0 } as const;
      const { items, total } = await domainHealthPage(collection, asked);
      t.is(items.length, total);
      return items.map(({ _id }) => _id[0]).join('');
    };
    t.is(await page(0, 'desc'), 'cbad');
    t.is(await page(0, 'asc'), 'dabc');
    t.is(await page(2, 'desc'), 'cb');
    t.is(await page(4, 'desc'), '');
  });
});
