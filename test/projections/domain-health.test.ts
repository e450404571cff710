// The health of domains equals a plain count over the results of all ended jobs. It is recorded once for each job, and
// read in every order.

import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { ERROR_CODES, type Outcome, VERDICTS } from '../../events/checks.ts';
import type { FoundOfDomain } from '../../events/domain-checks.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { batchSize } from '../../events/job.ts';
import { domainChecksStream } from '../../events/streams.ts';
import { domainChecks } from '../../processes/domain-checks.ts';
import { domainHealthProjection } from '../../projections/domain-health.ts';
import { type DomainHealthDocument, domainHealth, domainHealthPage } from '../../readmodels/domain-health.ts';
import { endedJob, jobs } from '../../readmodels/jobs/jobs.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { domainOf, FIRST_DOMAINS } from '../../readmodels/results/stats.ts';
import { FOUND } from '../support/behind.ts';
import { passOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';

interface Result {
  url: string;
  outcome: Outcome;
  at_ms: number;
}

const plain = (url: string): Result => ({ url, outcome: FOUND, at_ms: 0 });

/** A world in which jobs are checked and end. */
async function openWorld(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const [commands, credits] = [openJobs(log), openCredits(log)];
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 1e9, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  const submitJob = openSubmitJob(log, commands, credits);
  const readmodels = openReadModels(documents);
  let made = 0;
  return {
    ...stores,
    readmodels,
    /** Cancels the job after its first `checked` URLs. */
    async ended(results: readonly Result[], checked = results.length): Promise<string> {
      const job_id = `job${made++}`;
      const urls = results.map(({ url }) => url);
      const submitted = await submitJob(
        {
          ...{ job_id, owner_id: 'alice', owner_email: null, source: 'api', filename: null, blob_key: null },
          needs_credits: true,
          counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
          pages: (async function* () {
            for (let from = 0; from < urls.length; from += 1000) {
              yield { urls: urls.slice(from, from + 1000) };
            }
          })(),
        },
        commandContext(),
      );
      if (!submitted.ok) throw new Error(submitted.refused.message);
      const batch_size = batchSize(urls.length);
      for (let from = 0; from < checked; from += batch_size) {
        const some = results.slice(from, from + batch_size);
        const range = { job_id, batch: from / batch_size, from_index: from };
        const batch_urls = some.map(({ url }) => url);
        const outcomes = some.map(({ outcome }) => outcome);
        await recordChecks(log, { ...range, urls: batch_urls }, outcomes, commandContext(some[0]!.at_ms));
        // All results of a batch have one time.
        for (const result of some) result.at_ms = some[0]!.at_ms;
      }
      await commands.run(job_id, { type: 'cancel' }, commandContext());
      await project(stores);
      return job_id;
    },
    async recorded(
      commands = openDomainChecks(log),
      options?: Parameters<typeof passOf>[2],
    ): Promise<Map<string, DomainHealthDocument>> {
      await passOf(
        domainChecks({ readmodels, domain_checks: commands, context: () => commandContext() }),
        readmodels,
        options,
      );
      await project(stores);
      const found = await Array.fromAsync(readmodels.collection(domainHealth).stream({}));
      return new Map(found.map((document) => [document._id, document]));
    },
    async deleted(job_id: string): Promise<void> {
      const remove = openDeleteJob(commands, credits, async (id) =>
        endedJob((await readmodels.collection(jobs).get(id))!),
      );
      t.like(await remove(job_id, commandContext()), { ok: true });
      await project(stores);
    },
    parts: async (job_id: string) => (await Array.fromAsync(log.readStream(domainChecksStream(job_id)))).length,
  };
}

const HOSTS = ['a.example', 'A.example', 'b.example:8080', 'bücher.example', 'user@c.example', '127.0.0.1', '[::1]:81'];
const host = fc.oneof(
  fc.constantFrom(...HOSTS),
  fc.nat(60).map((n) => `${n}.example`),
);
const outcome = fc
  .record({
    status_code: fc.constantFrom(200, 301, 404, 503, 999, null),
    is_broken: fc.boolean(),
    response_time_ms: fc.option(fc.nat(15_000)),
    error_code: fc.option(fc.constantFrom(...ERROR_CODES)),
    verdict: fc.constantFrom(...VERDICTS),
  })
  .map((found): Outcome => ({ ...FOUND, ...found }));
const url = fc.tuple(fc.constantFrom('http', 'https'), host).map(([scheme, name]) => `${scheme}://${name}/x?y#z`);
const results = fc
  .array(fc.record({ url, outcome, at_ms: fc.nat(1e6) }), { minLength: 1, maxLength: 100 })
  .map((all) => all.map((result, n) => ({ ...result, url: result.url.replace('x', `x${n}`) })));

test('the health of each domain equals a plain count over the results of ended jobs', async (t) => {
  const property = fc.asyncProperty(fc.array(results, { minLength: 1, maxLength: 3 }), async (of_jobs) => {
    const world = await openWorld(t);
    for (const of_job of of_jobs) await world.ended(of_job);
    const documents = await world.recorded();
    const by_domain = Map.groupBy(of_jobs.flat(), ({ url }) => domainOf(url));
    t.deepEqual([...documents.keys()].sort(), [...by_domain.keys()].sort());
    for (const [name, of_domain] of by_domain) assertCounted(t, documents.get(name)!, of_domain);
  });
  await fc.assert(property, { numRuns: 8 });
});

function assertCounted(t: ExecutionContext, document: DomainHealthDocument, of_domain: readonly Result[]): void {
  const all = of_domain.map((result) => result.outcome);
  const count = (test: (data: Outcome) => boolean) => all.filter(test).length;
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
    last_checked_at: new Date(Math.max(...of_domain.map(({ at_ms }) => at_ms))).toISOString(),
    status_codes: tally(all.map(({ status_code }) => status_code)),
    error_codes: tally(all.flatMap(({ error_code }) => error_code ?? [])),
    verdicts: tally(all.map(({ verdict }) => verdict)),
  });
}

const ofManyDomains = (count: number) => Array.from({ length: count }, (_, i) => plain(`https://${i}.example/`));

test('a job counts once, however often it is processed', async (t) => {
  const world = await openWorld(t);
  const job_id = await world.ended(ofManyDomains(30));
  t.is((await world.recorded()).size, 30);
  t.is((await world.readmodels.collection(jobs).get(job_id))?.due, null);
  t.is((await world.recorded()).get('7.example')?.checks, 1);
  t.is(await world.parts(job_id), 1);
});

test('a job of many domains is recorded in parts, and continues after an interruption', async (t) => {
  const world = await openWorld(t);
  const count = FIRST_DOMAINS + 1200;
  const job_id = await world.ended(ofManyDomains(count));
  const real = openDomainChecks(world.log);
  const failing: typeof real = {
    record: (part, ...rest) => (part === 1 ? Promise.reject(new Error('away')) : real.record(part, ...rest)),
  };
  await t.throwsAsync(world.recorded(failing), { message: 'away' });
  t.is(await world.parts(job_id), 1);
  const documents = await world.recorded();
  t.is(await world.parts(job_id), 3);
  t.is(documents.size, count);
  t.true([...documents.values()].every(({ checks }) => checks === 1));
});

test('a job whose domains cannot be recorded holds up no other, and is left alone for a while', async (t) => {
  const world = await openWorld(t);
  const damaged = await world.ended([plain('https://damaged.example/')]);
  await world.ended([plain('https://sound.example/')]);
  const real = openDomainChecks(world.log);
  const tried: string[] = [];
  const failing: typeof real = {
    async record(part, found, context) {
      tried.push(found.job_id);
      if (found.job_id === damaged) throw new Error('the event is damaged');
      return real.record(part, found, context);
    },
  };
  t.deepEqual([...(await world.recorded(failing, { logger: silent })).keys()], ['sound.example']);
  t.is(tried.length, 2);
  t.is((await world.recorded(real)).size, 2);
});

test('the counts of a job stay when the job is deleted', async (t) => {
  const world = await openWorld(t);
  const job_id = await world.ended(ofManyDomains(3));
  await world.recorded();
  await world.deleted(job_id);
  t.is((await world.recorded()).size, 3);
});

test('a job without checked URLs changes no domain', async (t) => {
  const world = await openWorld(t);
  await world.ended(ofManyDomains(3), 0);
  t.is((await world.recorded()).size, 0);
});

test('of equal failure rates the domain with the most checks comes first, and domains with few checks are absent', async (t) => {
  const found = (domain: string, checks: number, failures: number): FoundOfDomain => ({
    ...{ domain, checks, failures, blocked_count: 0, answers: 0, response_time_total_ms: 0, last_checked_at: '' },
    ...{ status_codes: {}, error_codes: {}, verdicts: {} },
  });
  const domains = [found('a', 1, 1), found('b', 2, 2), found('c', 3, 3), found('d', 1, 0)];
  const event = { type: 'DomainsChecked', data: { job_id: 'job', domains, last: true } } as unknown as RecordedEvent;
  const { documents } = await openTestStores(t);
  await domainHealthProjection.apply([event], (spec) => documents.collection(spec));
  const collection = await documents.collection(domainHealth);
  const page = async (min_checks: number, sort_order: 'asc' | 'desc') => {
    const asked = { min_checks, sort_by: 'failure_rate', sort_order, limit: 10, offset: 0 } as const;
    const { items, total } = await domainHealthPage(collection, asked);
    t.is(items.length, total);
    return items.map(({ _id }) => _id).join('');
  };
  t.is(await page(0, 'desc'), 'cbad');
  t.is(await page(0, 'asc'), 'dabc');
  t.is(await page(2, 'desc'), 'cb');
  t.is(await page(4, 'desc'), '');
});

test('the domains of several small jobs are counted in one transaction, which is repeated when it fails', async (t) => {
  const of = (job_id: string): FoundOfDomain => ({
    ...{ domain: 'shared.test', checks: 2, failures: 1, blocked_count: 0, answers: 1, response_time_total_ms: 30 },
    ...{ last_checked_at: job_id, status_codes: { 200: 1, 404: 1 }, error_codes: {}, verdicts: { ok: 1, broken: 1 } },
  });
  const events = ['1', '2', '3'].map(
    (job_id) => ({ type: 'DomainsChecked', data: { job_id, domains: [of(job_id)], last: true } }) as never,
  ) as RecordedEvent[];
  const { documents } = await openTestStores(t);
  const before = structuredClone(events);
  const failed = documents.transaction(async (inside) => {
    await domainHealthProjection.apply(events, (spec) => inside.collection(spec));
    throw new Error('not committed');
  });
  await t.throwsAsync(failed, { message: 'not committed' });
  t.deepEqual(events, before);
  await domainHealthProjection.apply(events, (spec) => documents.collection(spec));
  const counted = await (await documents.collection(domainHealth)).get('shared.test');
  t.like(counted, { checks: 6, failures: 3, status_codes: { 200: 3, 404: 3 }, avg_response_time_ms: 30 });
  t.false(events.some((event) => domainHealthProjection.isHeavy!(event)));
});
