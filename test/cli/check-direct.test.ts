// `check --direct` as its user runs it: a process of its own, files in and out, and its exit code.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'csv-parse/sync';
import { startTestSite, type TestSite, type TestSiteOptions } from '../support/test-site.ts';

const CLI = fileURLToPath(new URL('../../cli/check.ts', import.meta.url));

interface Run {
  child: ChildProcess;
  done: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

interface World {
  site: TestSite;
  folder: string;
  write(name: string, content: string): Promise<void>;
  start(args: string[], env?: Record<string, string>): Run;
  results(name?: string): Promise<Record<string, string>[]>;
}

async function world(t: ExecutionContext, options: TestSiteOptions = {}): Promise<World> {
  const site = await startTestSite(options);
  const folder = await mkdtemp(join(tmpdir(), 'check-direct-'));
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of children) child.kill('SIGKILL');
    await site.close();
    await rm(folder, { recursive: true });
  });
  return {
    site,
    folder,
    write: (name, content) => writeFile(join(folder, name), content),
    start(args, env = {}) {
      const child = spawn(process.execPath, [CLI, '--direct', ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1', CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', ...env },
      });
      children.push(child);
      const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
      const done = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(([code, stdout, stderr]) => ({
        code,
        stdout: stripVTControlCharacters(stdout),
        stderr: stripVTControlCharacters(stderr),
      }));
      return { child, done };
    },
    results: async (name = 'results.csv') =>
      parse(await readFile(join(folder, name), 'utf8'), { bom: true, columns: true }),
  };
}

test('the command checks and reports a file in order, and leaves nothing else on the disk', async (t) => {
  const { site, folder, write, start, results } = await world(t);
  const paths = ['/count/3', '/404', '/fine', '/503-once', '/no-content', '/soft/a', '/loop'];
  const rows = paths.map((path, i) => `${i},${site.origin}${path}`);
  await write('urls.csv', ['id,link', ...rows, `7,${site.origin}/fine`, '8,not a url'].join('\n'));

  const { code, stdout, stderr } = await start(['urls.csv']).done;

  t.deepEqual([code, stderr], [1, '']);
  t.regex(stdout, /7 URLs checked in/);
  t.regex(stdout, /not checked: 1 duplicate, 1 row that is no URL/);
  t.regex(stdout, /soft_404 +1 /);
  t.notRegex(stdout, /Credits/);
  t.deepEqual(
    (await results()).map(({ url, verdict, status_code }) => [url, verdict, status_code]),
    [
      ['/count/3', 'redirected', '200'],
      ['/404', 'broken', '404'],
      ['/fine', 'ok', '200'],
      ['/503-once', 'ok', '200'],
      ['/no-content', 'ok', '204'],
      ['/soft/a', 'soft_404', '200'],
      ['/loop', 'unreachable', '302'],
    ].map(([path, ...rest]) => [site.origin + path!, ...rest]),
  );
  t.false(existsSync(join(folder, 'data')));
});

test('--column chooses the column, and the command names the one it took and the columns that there are', async (t) => {
  const { site, write, start, results } = await world(t);
  await write('two.csv', `page,from\n${site.origin}/fine,${site.origin}/404\n`);

  const chosen = await start(['two.csv', '--column', 'FROM']).done;
  t.is(chosen.code, 1, chosen.stderr);
  t.regex(chosen.stdout, /^Column B \("from"\) was read\.\nOther columns hold URLs: A \("page"\)/);
  t.deepEqual(
    (await results()).map(({ url }) => url),
    [`${site.origin}/404`],
  );
  const missing = await start(['two.csv', '--column', 'link']).done;
  t.is(missing.code, 2);
  t.regex(missing.stderr, /no column "link".*"page", "from"/);
});

test('the exit code is 0 without broken URLs, and --json and --out work as with the service', async (t) => {
  const { site, write, start, results } = await world(t);
  await write('urls.txt', `${site.origin}/fine\n${site.origin}/once\n`);

  const { code, stdout } = await start(['urls.txt', '--json', '--out', 'found.csv']).done;

  t.is(code, 0);
  t.like(JSON.parse(stdout), {
    job: { total_urls: 2, completed_urls: 2, status: 'completed', duplicates_removed: 0 },
    verdicts: { ok: 1, redirected: 1 },
    broken: 0,
    results: 'found.csv',
  });
  t.is((await results('found.csv')).length, 2);
});

test('the command refuses private addresses unless a setting allows them', async (t) => {
  const { site, write, start, results } = await world(t);
  await write('urls.txt', `${site.origin}/fine\n`);
  const { code } = await start(['urls.txt'], { CHECKER_ALLOW_ADDRESSES: '' }).done;
  t.is(code, 1);
  t.is((await results())[0]!.error_code, 'blocked_address');
  t.deepEqual(site.requests, []);
});

const WRONG: readonly [
  what: string,
  args: string[],
  files: Record<string, string>,
  env: Record<string, string>,
  says: RegExp,
][] = [
  ['a file that is not there', ['no.csv'], {}, {}, /^no\.csv: .*ENOENT/],
  ['a file without URLs', ['a.csv'], { 'a.csv': 'name\nalice\n' }, {}, /^a\.csv: /],
  ['an empty file', ['a.csv'], { 'a.csv': '' }, {}, /^a\.csv: The file is empty/],
  [
    'too many URLs',
    ['a.txt'],
    { 'a.txt': 'http://a.example/1\nhttp://a.example/2' },
    { MAX_URLS_PER_JOB: '1' },
    /more than 1 /,
  ],
  ['wrong settings', ['a.txt'], { 'a.txt': 'http://a.example/1' }, { CHECKER_RETRIES: 'x' }, /CHECKER_RETRIES/],
  [
    'results where they cannot be',
    ['a.txt', '--out', 'no/where.csv'],
    { 'a.txt': 'http://127.0.0.1:1/' },
    {},
    /no\/where\.csv/,
  ],
  [
    'results over the file itself',
    ['a.txt', '--out', './a.txt'],
    { 'a.txt': 'http://127.0.0.1:1/' },
    {},
    /--out is the file/,
  ],
  ['no file', [], {}, {}, /^usage: /],
  ['two files', ['a', 'b'], {}, {}, /^usage: /],
  ['an option that there is not', ['a', '--fast'], {}, {}, /--fast[\s\S]*usage: /],
];
for (const [what, args, files, env, says] of WRONG) {
  test(`${what}: exit code 2 and the reason`, async (t) => {
    const { write, start } = await world(t);
    for (const [name, content] of Object.entries(files)) await write(name, content);
    const { code, stdout, stderr } = await start(args, env).done;
    t.deepEqual([code, stdout], [2, '']);
    t.regex(stderr, says);
  });
}

test('Ctrl-C ends the command at once, with whole rows in the file and an exit code of its own', async (t) => {
  let silent = (): void => {};
  const asked = new Promise<void>((resolve) => (silent = resolve));
  const { site, write, start, results } = await world(t, { behaviours: { '/waits': () => silent() } });
  const paths = ['/fine', '/404', '/waits', '/once'];
  await write('urls.txt', paths.map((path) => site.origin + path).join('\n'));

  const { child, done } = start(['urls.txt'], { CHECKER_PER_HOST: '1' });
  await asked;
  child.kill('SIGINT');
  const { code, stderr } = await done;

  t.is(code, 130);
  t.is(stderr, 'Interrupted: the first 2 of 4 results are in results.csv.\n');
  t.deepEqual(
    (await results()).map(({ verdict }) => verdict),
    ['ok', 'broken'],
  );
});
