// Lines of the log are written together and not by the request that logs them, and none is lost when the process ends.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';

const PROGRAM = join(import.meta.dirname, 'logging-program.ts');

/** How many lines were written when the last one was logged, and the lines that the end has left. */
async function logged(t: ExecutionContext, end: string, count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'logger-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const LOG_FILE = join(folder, 'service.log');
  const at_once = await new Promise<number>((resolve) => {
    const env = { PATH: process.env.PATH, LOG_FILE };
    execFile(process.execPath, [PROGRAM, end, String(count)], { env }, (_error, stdout) => resolve(Number(stdout)));
  });
  const lines = (await readFile(LOG_FILE, 'utf8')).trim().split('\n');
  return { at_once, lines: lines.map((line) => JSON.parse(line) as { n: number; level: number }) };
}

for (const end of ['exit', 'throw', 'returns', 'later']) {
  test(`a line is not written while it is logged, and is there after the end: ${end}`, async (t) => {
    const { at_once, lines } = await logged(t, end, 100);
    t.is(at_once, 0);
    t.deepEqual(
      lines.map(({ n }) => n),
      Array.from({ length: 100 }, (_, n) => n),
    );
  });
}

test('a fatal line is written at once, with those before it', async (t) => {
  const { at_once, lines } = await logged(t, 'fatal', 100);
  t.is(at_once, 101);
  t.is(lines.at(-1)!.level, 60);
});

test('of many lines no more than a buffer waits', async (t) => {
  const { at_once, lines } = await logged(t, 'exit', 5000);
  t.true(at_once > 4000 && at_once < 5000, `${at_once}`);
  t.is(lines.length, 5000);
});
