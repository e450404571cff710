// What a process manager that fails writes to the log: a store that is away is one line for all of them, and every other fault is an error.
import test from 'ava';
import { keepRunning, StoreWaits } from '../../processes/keep-running.ts';
import { ManagerWatch } from '../../processes/manager-watch.ts';
import type { ManagerName } from '../../roles/managers.ts';
import { silent } from '../support/stores.ts';

/** Runs managers that fail with the errors of their turn, pass once, and end. Returns the lines of the log. */
async function linesOf(managers: Partial<Record<ManagerName, readonly unknown[]>>): Promise<string[]> {
  const lines: string[] = [];
  const line = (level: string) => (about: unknown, message?: string) =>
    void lines.push(`${level}: ${message ?? about}`);
  const logger = Object.assign(Object.create(silent), {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  });
  const waits = new StoreWaits(logger);
  const all_failed = Promise.withResolvers<void>();
  let failing = Object.keys(managers).length;
  await Promise.all(
    Object.entries(managers).map(([name, errors]) => {
      const over = new AbortController();
      const left = [...errors];
      const run = async (onPass: () => void) => {
        if (left.length > 0) throw left.shift();
        if (--failing === 0) all_failed.resolve();
        await all_failed.promise;
        onPass();
        over.abort();
      };
      const watch = new ManagerWatch(name as ManagerName, () => 0);
      return keepRunning(watch, run, { logger, waits, signal: over.signal });
    }),
  );
  return lines;
}

test('a store that is away is one line for all process managers, and its return another', async (t) => {
  const away = Object.assign(new Error('no projector has made documents yet'), { code: 'unavailable' });
  t.deepEqual(await linesOf({ mails: [away, away], purges: [away], webhooks: [new AggregateError([away])] }), [
    'warn: process managers wait for a store, and run again',
    'info: no process manager waits any more',
  ]);
});

test('each failure of another kind is an error', async (t) => {
  const failed = 'error: a process manager failed; it will run again';
  t.deepEqual(await linesOf({ mails: [new Error('defect'), new Error('defect')] }), [failed, failed]);
});
