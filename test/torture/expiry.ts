// Lets results expire some seconds after the ends of their jobs, in the midst of all else: a service counts in days. It stands beside the
// service, over the same stores, and no fault holds it up.

import { setTimeout as sleep } from 'node:timers/promises';
import { openJobs } from '../../commands/jobs/job.ts';
import type { EventStore } from '../../events/event-store.ts';
import { retention } from '../../processes/retention.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, silent } from '../support/stores.ts';
import type { Random } from './random.ts';
import type { Shape } from './shapes.ts';

const KEPT_DAYS = 15 / 86_400;

export async function expireResults(shape: Shape, log: EventStore, random: Random, for_ms: number): Promise<void> {
  const documents = await shape.openDocuments();
  const readmodels = openReadModels(documents);
  const of = { readmodels, job_commands: openJobs(log), days: KEPT_DAYS, failed_purges: { has: () => false } };
  const expiry = passesOf(retention({ ...of, context: () => commandContext() }), readmodels, {
    ...{ logger: silent, monotonic: () => performance.now() },
  });
  try {
    for (const until = performance.now() + for_ms; performance.now() < until; ) {
      await sleep(random.between(1000, 5000));
      // A store that is away or full is tried again.
      await expiry.pass().catch(() => {});
    }
  } finally {
    await documents.close();
  }
}
