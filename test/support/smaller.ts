// A property that fails is made smaller for a bounded time: each attempt may take seconds, and there is no end to them.
import fc from 'fast-check';

const SHRINKING_MS = 45_000;

/** Checks like `fc.check`. What `parameters` say of time limits is of the runs before a failure. */
export async function checkBounded<Drawn>(
  property: fc.IAsyncProperty<Drawn>,
  parameters: fc.Parameters<Drawn>,
): Promise<fc.RunDetails<Drawn>> {
  const found = await fc.check(property, { ...parameters, endOnFailure: true });
  if (!found.failed || found.counterexamplePath === null) return found;
  const { seed, counterexamplePath: path } = found;
  const smaller = await fc.check(property, { seed, path, interruptAfterTimeLimit: SHRINKING_MS });
  // An attempt that was cut off, or that chance lets pass, tells less than what was found.
  return smaller.failed ? smaller : found;
}

/** Holds for all that is drawn, or throws an error that says how to have the failure again. */
export async function assertBounded<Drawn>(
  property: fc.IAsyncProperty<Drawn>,
  parameters: fc.Parameters<Drawn>,
): Promise<void> {
  const details = await checkBounded(property, parameters);
  if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
}
