// Deletions of small jobs remove their results themselves, a bounded number of them in one transaction.
import test from 'ava';
import { openJobs } from '../../../commands/jobs/job.ts';
import { idOf } from '../../../events/streams.ts';
import { jobsProjection } from '../../../projections/jobs/jobs.ts';
import type { Documents } from '../../../readmodels/documents.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { results } from '../../../readmodels/results/results.ts';
import { appendManyJobs } from '../../support/many-jobs.ts';
import { commandContext, openTestStores, project } from '../../support/stores.ts';

test('the deletions of many small jobs remove at most 5,000 results in one transaction', async (t) => {
  const { log, documents } = await openTestStores(t);
  await appendManyJobs(log, { jobs: 12, hosts: 1000, all_hosts: 20, owner_id: 'alice' });
  await project({ log, documents }, [jobsProjection]);
  const readmodels = openReadModels(documents);
  const stored = () => readmodels.collection(results).count({});
  t.is(await stored(), 12_000);
  const jobs = openJobs(log);
  for await (const { type, stream } of log.readAll({ filter: { categories: ['job'] } })) {
    if (type === 'JobCreated') t.true((await jobs.run(idOf(stream), { type: 'delete' }, commandContext())).ok);
  }
  const removed: number[] = [];
  const counting = new Proxy(documents, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'transaction') return typeof value === 'function' ? value.bind(target) : value;
      return async (...args: readonly unknown[]) => {
        const before = await stored();
        const done = await value.apply(target, args);
        removed.push(before - (await stored()));
        return done;
      };
    },
  }) as Documents;
  await project({ log, documents: counting }, [jobsProjection]);
  t.is(await stored(), 0);
  t.true(Math.max(...removed) <= 5000, JSON.stringify(removed.filter((count) => count > 0)));
});
