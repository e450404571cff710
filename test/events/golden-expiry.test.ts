// A job of an older release whose results expire under this one: what the statistics showed stays, also in a replay of what is left.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openJobs } from '../../commands/job.ts';
import { recordSomeDomains } from '../../processes/domain-checks.ts';
import { openPurger } from '../../processes/purge.ts';
import { openRemovals } from '../../processes/removals.ts';
import { openRetention } from '../../processes/retention.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { results } from '../../readmodels/results.ts';
import { jobDomains, jobResponseTimes, jobStats, summaryOf } from '../../readmodels/stats.ts';
import { assertSameDocuments } from '../support/ledger.ts';
import { coded, commandContext, openTestStores, project, silent } from '../support/stores.ts';

const GOLDEN = join(import.meta.dirname, '../golden');
const STORY = ['UrlsListed', 'JobCreated', 'URLChecked', 'JobCompleted'];
const never = new AbortController().signal;

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
    const common = { readmodels, context: () => commandContext(), logger: silent, monotonic: () => 0 };
    const commands = openJobs(log);
    await project({ log, documents });
    await recordSomeDomains({ readmodels, commands: openDomainChecks(log), context: () => commandContext() }, never);
    await project({ log, documents });
    const shown = async () => {
      const [stats] = await readmodels.collection(jobStats).find({});
      const [domains, times] = [readmodels.collection(jobDomains), readmodels.collection(jobResponseTimes)];
      return summaryOf({ domains, times }, stats!);
    };
    const before = await shown();
    t.is(before.checked_urls, 2);
    const retention = openRetention({
      ...common,
      commands,
      days: 1,
      failed_purges: { has: () => false },
      now: Date.now,
    });
    t.not((await retention.expireSome(never)).position, null);
    await project({ log, documents });
    const purger = openPurger({
      ...common,
      commands,
      log,
      blobs: { delete: async () => {} },
      removals: openRemovals(),
    });
    while ((await purger.purgeSome(never)) !== null) await project({ log, documents });
    t.deepEqual(await readmodels.collection(results).find({}), []);
    t.deepEqual(await shown(), before);
    const anew = await openTestStores(t);
    await project({ log, documents: anew.documents });
    await assertSameDocuments(t, documents, anew.documents);
  });
}
