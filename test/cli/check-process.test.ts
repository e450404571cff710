// `check` as a process of its own: signals, standard input, pipes that close early, and colours.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, watch, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { testWith } from '../support/programs.ts';
import { page, startTestSite, type TestSiteOptions } from '../support/test-site.ts';

const CLI = fileURLToPath(new URL('../../cli/check.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

async function world(t: ExecutionContext, options: TestSiteOptions = {}) {
  const site = await startTestSite(options);
  const folder = await mkdtemp(join(tmpdir(), 'check-process-'));
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of children) child.kill('SIGKILL');
    await site.close();
    await rm(folder, { recursive: true });
  });
  return {
    site,
    folder,
    start(args: string[], { env = {}, cwd = folder }: { env?: Record<string, string>; cwd?: string } = {}) {
      const child = spawn(process.execPath, [CLI, ...args, '--no-progress'], {
        cwd,
        env: {
          PATH: process.env.PATH,
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
          NODE_NO_WARNINGS: '1',
          XDG_STATE_HOME: join(folder, 'state'),
          CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
          ...env,
        },
      });
      children.push(child);
      const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
      const stderr = text(child.stderr);
      return { child, closed, stderr, stdout: () => text(child.stdout) };
    },
    kept: () => readdir(join(folder, 'state', 'url-checker')),
  };
}

/** A path that answers nothing; `asked` resolves when it is asked for. */
function silence() {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  return { asked, behaviours: { '/waits': () => resolve() } };
}

test('Ctrl-C ends the process with 130 and its results; another process continues with the rest', async (t) => {
  const { asked, behaviours } = silence();
  const { site, folder, start, kept } = await world(t, { behaviours });
  await writeFile(join(folder, 'urls.txt'), ['/fine', '/404', '/waits'].map((path) => site.origin + path).join('\n'));

  const first = start(['urls.txt', '--per-host', '1']);
  await asked;
  first.child.kill('SIGINT');
  t.regex(await first.stdout(), /\n2 of 3 URLs checked in/);
  t.is(await first.closed, 130);
  t.regex(await first.stderr, /^Interrupted: 2 of 3 URLs are checked/);
  t.is((await kept()).length, 1);

  const second = start(['urls.txt', '--resume', '--timeout', '0.1', '--retries', '0', '--json']);
  const { results } = JSON.parse(await second.stdout());
  t.is(await second.closed, 1);
  t.deepEqual(
    results.map(({ verdict }: { verdict: string }) => verdict),
    ['ok', 'broken', 'unreachable'],
  );
  t.deepEqual(site.requests.slice(0, 3), ['/fine', '/404', '/waits']);
  t.true(site.requests.slice(3).every((path) => path === '/waits'));
  t.deepEqual(await kept(), []);
});

test('a killed process loses no more than the last half second', async (t) => {
  const { asked, behaviours } = silence();
  const { site, folder, start, kept } = await world(t, { behaviours });
  const urls = [...Array.from({ length: 600 }, (_, n) => `${site.origin}/soft/${n}`), `${site.origin}/waits`];
  await writeFile(join(folder, 'urls.txt'), urls.join('\n'));
  const first = start(['urls.txt', '--per-host', '1', '--concurrency', '1']);
  await asked;
  first.child.kill('SIGKILL');
  await first.closed;
  t.is((await kept()).length, 1);
  const second = start(['urls.txt', '--resume', '--timeout', '0.1', '--retries', '0', '-q']);
  t.is(await second.closed, 1);
  // Outcomes are written 500 at a time.
  t.true(site.requests.filter((path) => path === '/soft/3').length === 1);
  t.deepEqual(await kept(), []);
});

test('SIGTERM ends the process with 143', async (t) => {
  const { asked, behaviours } = silence();
  const { site, start } = await world(t, { behaviours });
  const one = start([`${site.origin}/fine`, `${site.origin}/waits`, '--per-host', '1']);
  await asked;
  one.child.kill('SIGTERM');
  t.is(await one.closed, 143);
});

test('standard input is a list like a file, and the process can continue with it', async (t) => {
  const { asked, behaviours } = silence();
  const { site, start, kept } = await world(t, { behaviours });
  const list = `${site.origin}/fine\n${site.origin}/waits\n`;
  const first = start(['-', '--per-host', '1', '--format', 'csv']);
  first.child.stdin.end(list);
  await asked;
  first.child.kill('SIGINT');
  t.is((await first.stdout()).trim().split('\n').length, 2);
  t.is(await first.closed, 130);
  const second = start(['--resume', '--timeout', '0.1', '--retries', '0', '--json']);
  const { results } = JSON.parse(await second.stdout());
  t.deepEqual(
    results.map((r: Record<string, unknown>) => [r.file, r.row]),
    [
      ['stdin', 1],
      ['stdin', 2],
    ],
  );
  t.is(await second.closed, 1);
  t.deepEqual(await kept(), []);
});

test('Ctrl-C while standard input is read ends with 130, and leaves nothing', async (t) => {
  const { folder, start, kept } = await world(t);
  const temporary = join(folder, 'tmp');
  await mkdir(temporary);
  const { child, closed, stderr } = start(['-'], { env: { TMPDIR: temporary } });
  child.stdin.write('http://127.0.0.1/');
  for await (const { eventType } of watch(temporary)) if (eventType === 'rename') break;
  child.kill('SIGINT');
  t.is(await closed, 130);
  t.is(await stderr, 'Interrupted before the first result.\n');
  t.deepEqual([...(await kept()), ...(await readdir(temporary))], []);
});

test('a reader that leaves early ends the output quietly', async (t) => {
  const { site, folder, start } = await world(t);
  const urls = Array.from({ length: 3000 }, (_, n) => `${site.origin}/no-content?${'x'.repeat(200)}${n}`);
  await writeFile(join(folder, 'urls.txt'), urls.join('\n'));
  const { child, closed, stderr } = start(['urls.txt', '--json', '-q']);
  child.stdout.once('data', () => child.stdout.destroy());
  t.is(await closed, 0);
  t.is(await stderr, '');
});

const COLOUR = '\x1b[31m';

test('pipes get no colours', async (t) => {
  const { site, start } = await world(t);
  t.false((await start([`${site.origin}/404`]).stdout()).includes('\x1b'));
  t.true((await start([`${site.origin}/404`], { env: { FORCE_COLOR: '1' } }).stdout()).includes(COLOUR));
});

testWith('script', 'stty')('on a terminal of 60 columns the bar fits, and NO_COLOR is heard', async (t) => {
  let waiting: Socket | null = null;
  const { site, folder } = await world(t, { behaviours: { '/waits': (_request, socket) => void (waiting = socket) } });
  async function onTerminal(columns: number, env: Record<string, string>): Promise<string> {
    const command = `stty cols ${columns}; exec '${process.execPath}' '${CLI}' ${site.origin}/404 ${site.origin}/waits`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: {
        ...process.env,
        // CI may set these.
        ...{ NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined },
        ...{ XDG_STATE_HOME: folder, CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', TERM: 'xterm' },
        ...env,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let shown = '';
    for await (const piece of child.stdout.setEncoding('utf8')) {
      shown += piece;
      // The second URL answers once the bar was drawn.
      if (!shown.includes('1 of 2') || waiting === null) continue;
      page(waiting, 'here');
      waiting = null;
    }
    return shown;
  }
  const shown = await onTerminal(60, { NO_COLOR: '1' });
  const bars = shown.split('\r\x1b[K').filter((drawn) => / of 2( {2}|$)/.test(drawn));
  t.true(bars.length > 0);
  t.true(bars.every((drawn) => drawn.length <= 57));
  t.false(shown.includes(COLOUR));
  t.true((await onTerminal(80, {})).includes(COLOUR));
});

test("a path is relative to the user's current directory, also when npm runs the command in the folder of the project", async (t) => {
  const { site, folder, start } = await world(t);
  await writeFile(join(folder, 'urls.txt'), `${site.origin}/fine\n`);
  const env = { INIT_CWD: folder, npm_package_json: join(ROOT, 'package.json') };
  t.is(await start(['urls.txt', '-o', 'found.csv'], { cwd: ROOT, env }).closed, 0);
  t.true((await readdir(folder)).includes('found.csv'));
});

test('a wrong command line or input ends with 2 and says why on standard error', async (t) => {
  const { start } = await world(t);
  const none = start([]);
  t.is(await none.stdout(), '');
  t.regex(
    await none.stderr,
    /^there is no input: give a URL, a file, a folder, or - for standard input\nusage: npm run check/,
  );
  t.is(await none.closed, 2);
  const missing = start(['no.csv']);
  t.is(await missing.stderr, 'no.csv: there is no such file\n');
  t.is(await missing.closed, 2);
  const help = start(['--help']);
  t.regex(await help.stdout(), /^usage: npm run check[\s\S]*Exit codes/);
  t.is(await help.closed, 0);
});

test('a folder of runs that cannot be used ends with 2, before the first request', async (t) => {
  const { site, folder, start } = await world(t);
  await writeFile(join(folder, 'a-file'), '');
  const { closed, stderr } = start([`${site.origin}/fine`], { env: { XDG_STATE_HOME: join(folder, 'a-file') } });
  t.regex(await stderr, /^ENOTDIR: .*a-file/);
  t.is(await closed, 2);
  t.deepEqual(site.requests, []);
});

test('a report does not overwrite the file that standard input comes from', async (t) => {
  const { site, folder } = await world(t);
  const path = join(folder, 'list.csv');
  await writeFile(path, `${site.origin}/fine\n`);
  const { status, stderr } = spawnSync(process.execPath, [CLI, '-', '-q', '-o', path], {
    env: { PATH: process.env.PATH, XDG_STATE_HOME: join(folder, 'state'), CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' },
    stdio: [openSync(path, 'r'), 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  t.is(status, 2);
  t.regex(stderr, /list\.csv: it is an input or another --out/);
  t.is(await readFile(path, 'utf8'), `${site.origin}/fine\n`);
});
