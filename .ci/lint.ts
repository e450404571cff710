// Runs the steps of `npm run lint` two at a time, and prints what each says when it ends. All run, whichever fails. What lint alone needs is
// installed in .ci before its first run.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { withLintTools } from './lint-tools.ts';

const AT_ONCE = 2;
/** The longest first. One checker of tsc's takes 6 s of processor time, its default of four 15 s: each checks much the same types. */
const STEPS = [
  'node .ci/api-types.ts && tsc --checkers 1 && tsc --project web',
  'node .ci/import-rules.ts',
  'node .ci/lint-openapi.ts',
  'biome check --error-on-warnings .',
  'node .ci/linear-expressions.ts',
  'node .ci/event-catalogue.ts && node .ci/kept-documents.ts',
  'node .ci/client-models.ts',
];

const env = withLintTools();

async function run(step: string): Promise<void> {
  const child = spawn(`${step} 2>&1`, { env, shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  process.stdout.write(await text(child.stdout));
  if ((await exited) === 0) return;
  console.log(`lint: ${step} failed`);
  process.exitCode = 1;
}

const waiting = STEPS.values();
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (const step of waiting) await run(step);
  }),
);
