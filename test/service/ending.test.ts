// What cannot go on ends the whole process, with a code and a line that says why; its supervisor starts it again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));

test('a role that fails for good ends the process and all its other roles', async (t) => {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-ending-'));
  t.teardown(() => rm(data_dir, { recursive: true, force: true }));
  await mkdir(join(data_dir, 'identity'));
  await writeFile(join(data_dir, 'identity', 'webhook-key'), 'no key');
  const { code, lines } = await run({ DATA_DIR: data_dir, ROLES: 'projector,processes,checker' });
  t.is(code, 1);
  const fatal = lines.filter(({ level }) => level === 60);
  t.true(fatal.some(({ err }) => err?.message.includes('webhook-key holds no key')));
  t.regex(fatal.at(-1)?.msg ?? '', /^the service ends: a role failed: .*webhook-key holds no key/);
});

test('a thread that dies by itself ends the process', async (t) => {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-ending-'));
  t.teardown(() => rm(data_dir, { recursive: true, force: true }));
  const dying = join(data_dir, 'dying.mjs');
  // Loaded in every thread before the role: a rejection that nobody handles, once the role runs.
  await writeFile(
    dying,
    `import { isMainThread } from 'node:worker_threads';
     if (!isMainThread) setTimeout(() => Promise.reject(new Error('nobody caught this')), 1500);`,
  );
  const { code, lines } = await run({ DATA_DIR: data_dir, ROLES: 'projector', NODE_OPTIONS: `--import ${dying}` });
  t.is(code, 1);
  const fatal = lines.find(({ level }) => level === 60);
  // On a busy machine it dies before its role has begun, and has no name yet.
  t.regex(fatal?.err?.message ?? '', /^(projector( \([^)]+\))?: )?nobody caught this$/);
});

test('an uncaught fault in the main thread ends the process with one line', async (t) => {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-ending-'));
  t.teardown(() => rm(data_dir, { recursive: true, force: true }));
  const dying = join(data_dir, 'dying.mjs');
  await writeFile(
    dying,
    `import { isMainThread } from 'node:worker_threads';
     if (isMainThread) setTimeout(() => Promise.reject(new Error('nobody caught this')), 1500);`,
  );
  const { code, lines, errors } = await run({ DATA_DIR: data_dir, PORT: '0', NODE_OPTIONS: `--import ${dying}` });
  t.is(code, 1);
  t.is(lines.filter(({ level, err }) => level === 60 && err?.message === 'nobody caught this').length, 1);
  t.is(errors, '');
});

interface Line {
  level: number;
  msg: string;
  err?: { message: string };
}

async function run(env: Record<string, string>): Promise<{ code: number; lines: Line[]; errors: string }> {
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, ...env } });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const [code] = (await once(child, 'close')) as [number];
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return { code, lines: lines.map((line) => JSON.parse(line) as Line), errors };
}
