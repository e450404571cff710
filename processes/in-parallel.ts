// Commands of many streams at the same time: the log writes them together.

const AT_ONCE = 32;

/** Runs `work` for each item. What fails keeps none of the others back; it throws when all have ended. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  const rest = items.values();
  const runRest = async () => {
    for (const item of rest) await work(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, runRest));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${items.length} failed`);
}
