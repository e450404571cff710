import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import type { Queue } from '../../checkers/queue.ts';

/** Opens the one queue again for each checker; all are closed with the test. */
export async function oneQueue(t: ExecutionContext): Promise<() => Promise<Queue>> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-queue-'));
  const opened: Queue[] = [];
  t.teardown(async () => {
    await Promise.all(opened.map((queue) => queue.close()));
    await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const queue = await openSqliteQueue({ path: join(folder, 'queue.db') });
    opened.push(queue);
    return queue;
  };
}
