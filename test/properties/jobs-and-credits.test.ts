// Whatever clients, checkers and processes do at the same time, and whatever of the log's answers is lost, every job and
// every ledger stays right. What is done is drawn from a seed; a failure says how to have it again.
import test from 'ava';
import fc from 'fast-check';
import { checkBounded } from '../support/smaller.ts';
import { assertNothingLeft, type Known } from './holds.ts';
import { PRELUDE, steps } from './steps.ts';
import { openWorld } from './world.ts';

const FILE = 'test/properties/jobs-and-credits.test.ts';
/** `PROPERTY_SECONDS` for longer; the others to have one run again. */
const { PROPERTY_SECONDS, PROPERTY_SEED, PROPERTY_PATH } = process.env;
const SECONDS = Number(PROPERTY_SECONDS ?? 6);
const MAX_STEPS = 30;

test('jobs and credits stay exact under concurrent clients, lost acknowledgements and crashes', async (t) => {
  t.timeout((SECONDS + 100) * 1000);
  const tally = new Map<string, number>();
  let done = 0;
  const property = fc.asyncProperty(steps(MAX_STEPS), fc.boolean(), async (drawn, faultless) => {
    const world = await openWorld();
    try {
      const known: Known = { jobs: [], gone: new Set(), quiets: 0, asked: [], refused: [], faultless, tally };
      for (const step of PRELUDE) await step.run(known, world);
      await fc.asyncModelRun(() => ({ model: known, real: world }), drawn);
      await assertNothingLeft(known, world);
      done += [...drawn].length;
    } finally {
      await world.close();
    }
  });
  const options = {
    ...(PROPERTY_SEED ? { seed: Number(PROPERTY_SEED) } : {}),
    ...(PROPERTY_PATH ? { path: PROPERTY_PATH } : {}),
  };
  // The time limit cuts a run off. The first run has none, so that a busy machine makes one.
  let details = await checkBounded(property, { ...options, numRuns: 1 });
  if (!details.failed) {
    const until_s = { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: SECONDS * 1000 };
    details = await checkBounded(property, { ...options, ...until_s });
  }
  t.log(`seed ${details.seed}: ${details.numRuns} runs, ${done} steps`);
  for (const [command, answers] of Map.groupBy([...tally].sort(), ([what]) => what.split(':')[0])) {
    t.log(`${command}: ${answers.map(([what, times]) => `${what.split(': ')[1]} ${times}`).join(', ')}`);
  }
  if (details.counterexample === null) return t.true(done > 0);
  const [counterexample, faultless] = details.counterexample;
  // The run as it was drawn: it is made smaller again.
  const again = `PROPERTY_SEED=${details.seed} PROPERTY_PATH=${details.counterexamplePath?.split(':')[0]}`;
  const { stack } = details.errorInstance as Error;
  return t.fail(
    `faultless: ${faultless}\n${String(counterexample).replaceAll('},[', '},\n[')}\n${stack}\nagain: ${again} npx ava ${FILE}`,
  );
});
