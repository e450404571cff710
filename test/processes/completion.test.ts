// What is recorded of a checked job where somebody has dropped its statistics.
import test, { type ExecutionContext } from 'ava';
import type { Blobs } from '../../commands/blobs.ts';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { Outcome } from '../../events/checks.ts';
import { domainChecksStream, jobStream } from '../../events/streams.ts';
import { completion } from '../../processes/completion.ts';
import { domainChecks } from '../../processes/domain-checks.ts';
import { inGeneration } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { eventsOf, FOUND } from '../support/behind.ts';
import { passOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';
import { submitUpload } from '../support/submitted.ts';

const NO_BLOBS = { put: async () => {} } as unknown as Blobs;
const BROKEN: Outcome = { ...FOUND, status_code: 404, is_broken: true, verdict: 'broken' };
const URLS = Array.from({ length: 50 }, (_, i) => `https://site-${i}.example/`);

/** A job of five batches, all of whose URLs are checked; those for which `isBroken` says so are broken. */
async function checkedJob(t: ExecutionContext, isBroken: (index: number) => boolean) {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 1000, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  const of = { job_id: 'job', owner_id: 'alice', owner_email: null, filename: 'urls.csv', urls: URLS, batch_size: 10 };
  const outcomeOf = (index: number) => (isBroken(index) ? BROKEN : FOUND);
  await submitUpload({ log, blobs: NO_BLOBS, job_commands, credits }, { ...of, checked: URLS.length, outcomeOf });
  await project(stores);
  const readmodels = openReadModels(documents);
  return {
    async dropStatistics() {
      const [{ generation } = { generation: 0 }] = (await readmodels.projections()).filter(({ collections }) =>
        collections.includes(jobStats.name),
      );
      await (await documents.collection(inGeneration(jobStats, generation))).write([{ delete: 'job' }]);
    },
    async complete() {
      await passOf(completion({ log, readmodels, job_commands, context: () => commandContext() }), readmodels);
      await project(stores);
      return (await eventsOf(log, jobStream('job'))).at(-1);
    },
    async recordDomains() {
      const domain_checks = { readmodels, domain_checks: openDomainChecks(log), context: () => commandContext() };
      await passOf(domainChecks(domain_checks), readmodels, { logger: silent });
      return (await eventsOf(log, domainChecksStream('job'))).length;
    },
  };
}

for (const [name, isBroken, broken_urls] of [
  ['few URLs are', (index: number) => index % 10 === 3, 5],
  ['most URLs are', (index: number) => index % 10 !== 3, 45],
  ['whole batches are', (index: number) => index < 20, 20],
] as const) {
  test(`the broken URLs of a job without statistics are counted from the log: ${name}`, async (t) => {
    const job = await checkedJob(t, isBroken);
    await job.dropStatistics();
    t.like(await job.complete(), { type: 'JobCompleted', data: { completed_urls: URLS.length, broken_urls } });
  });
}

test('the domains of a job are not recorded while its statistics are missing', async (t) => {
  const [lacking, whole] = [await checkedJob(t, () => false), await checkedJob(t, () => false)];
  for (const job of [lacking, whole]) await job.complete();
  await lacking.dropStatistics();
  t.deepEqual([await lacking.recordDomains(), await whole.recordDomains()], [0, 1]);
});
