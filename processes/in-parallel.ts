// Runs commands of many streams at the same time, so that the log writes their events together.

const AT_ONCE = 32;

/** Runs `work` for each item, at most `at_a_time` at a time. Throws the failures after all items have ended. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  at_a_time: number = AT_ONCE,
): Promise<void> {
  const failures: unknown[] = [];
  const rest = items.values();
  const runRest = async () => {
    for (const item of rest) await work(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: Math.min(at_a_time, items.length) }, runRest));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${items.length} failed`);
}
