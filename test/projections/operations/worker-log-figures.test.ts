// The figures of the worker log, its filter options and its hours, against a plain count of the entries.
import test, { type ExecutionContext } from 'ava';
import { openWorkerLogCommands } from '../../../commands/worker-log.ts';
import type { LogEntry } from '../../../readmodels/operations/log-segments.ts';
import type { WorkerLog } from '../../../readmodels/operations/worker-log.ts';
import { commandContext } from '../../support/stores.ts';
import {
  A,
  B,
  check,
  follow,
  MINUTE_MS,
  openOver,
  openWorld,
  passes,
  SETTINGS,
  START_MS,
  urlsOf,
} from '../../support/worker-log-world.ts';

/** The options with the most frequent `most` domains. */
function optionsOf(entries: readonly LogEntry[], most: number) {
  const counted = <Value>(pick: (entry: LogEntry) => Value) => {
    const groups = [...Map.groupBy(entries, pick)].map(([value, of]) => [value, of.length] as const);
    return groups.sort(([a, many], [b, more]) => more - many || (String(a) < String(b) ? -1 : 1));
  };
  const domains = counted(({ domain }) => domain!);
  const errors = counted(({ error_code }) => error_code).filter(([error_code]) => error_code !== null);
  return {
    domains: domains.slice(0, most).map(([domain, of]) => ({ domain, entries: of })),
    domains_total: domains.length,
    status_codes: counted(({ status_code }) => status_code).map(([status_code, of]) => ({ status_code, entries: of })),
    error_codes: errors.map(([error_code, of]) => ({ error_code: error_code!, entries: of })),
  };
}
const assertOptions = async (t: ExecutionContext, worker_log: WorkerLog, entries: readonly LogEntry[]) =>
  t.deepEqual(await worker_log.options(3), optionsOf(entries, 3));

test('the filter options follow every entry that comes, is deleted, or becomes one too many', async (t) => {
  const world = await openWorld(t);
  const { stores } = world;
  const few = { ...SETTINGS, worker_log_entries: 3_000 };
  const logs = [openOver(stores), openOver(stores, few)] as const;
  const assertBoth = async () => {
    await assertOptions(t, logs[0], world.expected);
    await assertOptions(t, logs[1], world.expected.slice(-3_000));
  };
  await assertBoth();
  await check(world, { job_id: A, urls: urlsOf(2_500, 40) });
  await follow(stores);
  await assertBoth();
  await check(world, { job_id: B, urls: urlsOf(700, 7) });
  await follow(stores);
  await Promise.all([assertBoth(), assertBoth()]);
  const commands = openWorkerLogCommands(stores.log);
  await commands.delete({ type: 'LogsDeleted', data: { domain: 'host-3.example' } }, commandContext());
  world.expected = world.expected.filter(({ domain }) => domain !== 'host-3.example');
  await follow(stores);
  await assertBoth();
  await commands.delete({ type: 'LogsTruncated', data: {} }, commandContext());
  world.expected = [];
  await follow(stores);
  await assertBoth();
});

test('more domains than are shown are counted, and the most frequent ones come first', async (t) => {
  const world = await openWorld(t);
  // Each twice but for a few, in an order that is none of theirs.
  const hosts = Array.from({ length: 4_000 }, (_, n) => `https://host-${(n * 7919) % 2_000}.example/${n}`);
  await check(world, { job_id: A, urls: [...hosts, ...urlsOf(60, 20, 1_990)] });
  await follow(world.stores);
  const worker_log = openOver(world.stores);
  for (const most of [1, 5, 500, 3_000]) t.deepEqual(await worker_log.options(most), optionsOf(world.expected, most));
});

test('the hours count the entries, their failures and the time of their answers', async (t) => {
  const world = await openWorld(t);
  await check(world, { job_id: A, urls: urlsOf(300, 40) });
  await follow(world.stores);
  const worker_log = openOver(world.stores);
  const hours = await worker_log.stats(START_MS - 60 * MINUTE_MS, START_MS);
  t.deepEqual(
    hours.map(({ entries }) => entries),
    [0, world.expected.length],
  );
  t.is(hours[1]!.errors, world.expected.filter(({ error_code }) => error_code !== null).length);
  t.is(hours[1]!.non_2xx, world.expected.filter((entry) => passes(entry, { non_2xx: true })).length);
  const durations = world.expected.flatMap(({ duration_ms }) => duration_ms ?? []);
  t.deepEqual(
    [hours[1]!.answers, hours[1]!.duration_total_ms],
    [durations.length, durations.reduce((sum, ms) => sum + ms, 0)],
  );
  // The first hour is whole, however late in it the time is from which they are counted.
  const end_of_hour_ms = START_MS - (START_MS % (60 * MINUTE_MS)) + 60 * MINUTE_MS - 1;
  t.deepEqual(await worker_log.stats(end_of_hour_ms, end_of_hour_ms), [hours[1]!]);
});
