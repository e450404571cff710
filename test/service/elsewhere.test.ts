// The commands of README where they are not at home: in a folder with blanks and umlauts that cannot be written, with a proxy in the
// environment and without a HOME; and ended by Ctrl-C at any step of their start.
import { execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { testWith } from '../support/programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const STACK = /^ +at /m;
const { PATH, NODE_COMPILE_CACHE } = process.env;
/** Root may write what nobody may: without its capabilities it may not. */
const UNPRIVILEGED = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];

async function folderOf(t: ExecutionContext, name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), name));
  t.teardown(async () => {
    await run('chmod', ['-R', 'u+w', folder]);
    await rm(folder, { recursive: true });
  });
  return folder;
}

/** The files of the project, without those that git does not know, in a folder that nobody may write. */
async function readOnlyClone(t: ExecutionContext): Promise<string> {
  const clone = join(await folderOf(t, 'elsewhere-'), 'Prüfung für Müller & Söhne');
  const { stdout } = await run('git', ['ls-files', '-z', '*.ts', '*.js', '*.json', 'examples', 'cli'], { cwd: ROOT });
  const files = stdout.split('\0').filter((file) => file !== '' && !file.startsWith('test/'));
  for (const file of files) await cp(join(ROOT, file), join(clone, file));
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  await run('chmod', ['-R', 'a-w', dirname(clone)]);
  return clone;
}

testWith('git', 'setpriv')('the demo and a check run in a folder like no other', async (t) => {
  const cwd = await readOnlyClone(t);
  const scratch = await folderOf(t, 'scratch-');
  const nowhere = 'http://127.0.0.1:9';
  const env = {
    ...{ PATH, NODE_COMPILE_CACHE, TMPDIR: scratch, HOME: join(cwd, 'no home'), PORT: '0' },
    ...{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, http_proxy: nowhere },
  };
  for (const [program, ...args] of [
    ['demo', '--exit'],
    ['check', 'examples/urls.csv'],
  ] as const) {
    const command = [...UNPRIVILEGED, process.execPath, '--import', './boot.js', `cli/${program}.ts`, ...args];
    const child = spawn(command[0]!, command.slice(1), { cwd, env });
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise((resolve) => child.once('close', resolve)),
    ]);
    const said = `${program}: ${stdout}${stderr}`;
    t.is(code, program === 'demo' ? 0 : 1, said);
    t.notRegex(said, STACK);
    for (const verdict of ['ok', 'redirected', 'broken', 'soft_404', 'blocked', 'unreachable'])
      t.regex(stdout, new RegExp(`^ +${verdict} +[1-9]`, 'm'), said);
  }
});

/** Sends its own process Ctrl-C when a thread has loaded so many modules: the first thread, or another one. */
const interruptedAt = (thread: 'first' | 'other', modules: number) =>
  `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    import { isMainThread } from 'node:worker_threads';
    let left = ${modules};
    if (isMainThread === ${thread === 'first'}) registerHooks({ load(url, context, next) {
      if (--left === 0) process.kill(process.pid, 'SIGINT');
      return next(url, context);
    } });`)}`;

/** Each command, without an end of its own but for `check`, and the threads that it starts. */
const STARTS = {
  start: { args: ['--import', './boot.js', 'main.ts'], threads: ['first', 'other'] },
  demo: { args: ['--import', './runtime.js', 'cli/demo.ts'], threads: ['first', 'other'] },
  check: { args: ['--import', './boot.js', 'cli/check.ts', 'examples/urls.csv'], threads: ['first'] },
} as const;
const MODULES = [1, 60, 200];

for (const [name, { args, threads }] of Object.entries(STARTS))
  test(`Ctrl-C at any step of ${name} ends it without a stack`, async (t) => {
    const TMPDIR = await folderOf(t, 'interrupted-');
    const env = { PATH, NODE_COMPILE_CACHE, TMPDIR, HOME: TMPDIR, DATA_DIR: join(TMPDIR, 'data'), PORT: '0' };
    for (const [thread, modules] of threads.flatMap((one) => MODULES.map((most) => [one, most] as const))) {
      const of_project = args.map((arg) => (arg === '--import' ? arg : join(ROOT, arg)));
      // The demo keeps its data in the folder where it is started.
      const options = { cwd: TMPDIR, env };
      const child = spawn(process.execPath, ['--import', interruptedAt(thread, modules), ...of_project], options);
      const [output, errors, [code, signal]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        new Promise<[number | null, string | null]>((resolve) => child.once('close', (...how) => resolve(how))),
      ]);
      const when = `${name}, ${thread} thread, module ${modules}: ${code ?? signal} ${output}${errors}`;
      t.true(signal === 'SIGINT' || code === 0 || code === 130, when);
      t.notRegex(output + errors, STACK, when);
    }
  });
