// A job of an older release whose results expire under this one: what the statistics showed stays, also in a replay of what is left.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { domainChecks } from '../../processes/domain-checks.ts';
import { purging } from '../../processes/purge.ts';
import { openRemovals } from '../../processes/removals.ts';
import { retention } from '../../processes/retention.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { results } from '../../readmodels/results/results.ts';
import { jobDomains, jobResponseTimes, jobStats, summaryOf } from '../../readmodels/results/stats.ts';
import { assertSameDocuments } from '../support/ledger.ts';
import { passesOf, passOf } from '../support/manager-pass.ts';
import { coded, commandContext, openTestStores, project } from '../support/stores.ts';

const GOLDEN = join(import.meta.dirname, '../golden');
const STORY = ['UrlsListed', 'JobCreated', 'URLChecked', 'JobCompleted'];

for (const file of readdirSync(GOLDEN)) {
  test(`the results of a job of ${file} expire`, async (t) => {
    const { log: store, documents } = await openTestStores(t);
    const lines = readFileSync(join(GOLDEN, file), 'utf8').trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line));
    // The last one of a type has the fewest fields.
    for (const [n, type] of STORY.entries()) {
      const { stream, ...event } = events.findLast((each) => each.type === type);
      const id = `00000000-0000-4000-8000-00000000000${n}`;
      const appended = await store.append(stream, type === 'JobCompleted' ? 0 : 'no_stream', [{ ...event, id }]);
      t.true(appended.ok, type);
    }
    const log = coded(store);
    const readmodels = openReadModels(documents);
    const job_commands = openJobs(log);
    await project({ log, documents });
    const context = () => commandContext();
    await passOf(domainChecks({ readmodels, domain_checks: openDomainChecks(log), context }), readmodels);
    await project({ log, documents });
    const shown = async () => {
      const [stats] = await readmodels.collection(jobStats).find({});
      const [domains, times] = [readmodels.collection(jobDomains), readmodels.collection(jobResponseTimes)];
      return summaryOf({ domains, times }, stats!);
    };
    const before = await shown();
    t.is(before.checked_urls, 2);
    const expiring = { readmodels, job_commands, days: 1, failed_purges: { has: () => false }, context };
    t.not(await passOf(retention(expiring), readmodels), null);
    await project({ log, documents });
    const blobs = { delete: async () => {} };
    const purger = passesOf(purging({ job_commands, log, blobs, removals: openRemovals(), context }), readmodels);
    while ((await purger.pass()) !== null) await project({ log, documents });
    t.deepEqual(await readmodels.collection(results).find({}), []);
    t.deepEqual(await shown(), before);
    const anew = await openTestStores(t);
    await project({ log, documents: anew.documents });
    await assertSameDocuments(t, documents, anew.documents);
  });
}
