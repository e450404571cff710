// `check` from its arguments to its exit code, against a site on loopback.
import { existsSync } from 'node:fs';
import { link, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import { InputError } from '../../cli/check/inputs.ts';
import { OutputError } from '../../cli/check/outputs.ts';
import { ConfigError } from '../../settings/config.ts';
import { checkWorld } from '../support/check-command.ts';
import { page } from '../support/test-site.ts';

const resultsOf = (stdout: string) => JSON.parse(stdout).results as Record<string, unknown>[];

test('a check reports a file in order, with the place of each URL, and leaves nothing else on the disk', async (t) => {
  const { site, write, run, kept } = await checkWorld(t);
  const paths = ['/count/3', '/404', '/fine', '/503-once', '/no-content', '/soft/a', '/loop', '/challenge'];
  const rows = paths.map((path, i) => `${i},${site.origin}${path}`);
  const file = await write('urls.csv', ['id,link', ...rows, `8,${site.origin}/fine`, '9,not a url'].join('\n'));
  const out = file.replace('.csv', '.out.csv');

  const { code, stdout, stderr } = await run([file, '--out', out]);

  t.is(code, 1);
  t.is(stderr, 'Column B ("link") was read.\n');
  const shown = stdout.replaceAll(site.origin, '').replaceAll(file, 'urls.csv');
  t.regex(shown, /^\nDead\n {2}✗ \/404\n {6}404 · urls.csv:3\n {2}✗ \/soft\/a\n {6}soft 404: .* · urls.csv:7\n/);
  t.regex(
    shown,
    /\nBlocked: bot protection answered, so they are possibly alive\n {2}\? \/challenge\n {6}403 · urls.csv:9\n/,
  );
  t.regex(
    shown,
    /\n8 URLs checked in .*\nnot checked: 1 duplicate, 1 row without a URL\n {2}urls\.csv:11 "not a url" is text without a URL/,
  );
  t.regex(shown, /\n {2}soft_404 +1 {3}/);
  t.notRegex(shown, /Redirected/);
  t.deepEqual(
    parse(await readFile(out, 'utf8'), { bom: true, columns: true }).map((row) => {
      const { url, verdict, status_code, row: place, cell, file: name } = row as Record<string, string>;
      t.deepEqual([cell, name], [`B${place}`, file]);
      return [url!.replace(site.origin, ''), verdict, status_code];
    }),
    [
      ['/count/3', 'redirected', '200'],
      ['/404', 'broken', '404'],
      ['/fine', 'ok', '200'],
      ['/503-once', 'ok', '200'],
      ['/no-content', 'ok', '204'],
      ['/soft/a', 'soft_404', '200'],
      ['/loop', 'unreachable', '302'],
      ['/challenge', 'blocked', '403'],
    ],
  );
  t.deepEqual(await kept(), []);
});

test('JSON lists what is no URL, with its place and reason; text shows the first of them', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const words = Array.from({ length: 1200 }, (_, n) => `word${n}`);
  const file = await write('list.csv', ['url', `${site.origin}/fine`, ...words].join('\n'));
  const { rejected, results, invalid_urls_rejected } = JSON.parse((await run([file, '--json'])).stdout);
  t.is(invalid_urls_rejected, 1200);
  t.is(rejected.length, 1000);
  t.deepEqual(rejected[0], { file, row: 3, value: 'word0', reason: 'no_domain' });
  t.is(results[0].cell, 'A2');
  t.regex((await run([file])).stdout, /list\.csv:7 "word4" has no domain.*\n {2}and 1,195 more, see --json\n/);
});

test('URLs and several files are one check, in which each URL is checked once', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const list = await write('a.md', `See [it](${site.origin}/fine) and\n- <${site.origin}/once>\n`);
  const json = await write('b.json', JSON.stringify([{ link: `${site.origin}/once` }, { link: `${site.origin}/404` }]));

  const { code, stdout } = await run([`${site.origin}/fine`, list, json, '--json']);

  t.is(code, 1);
  const { results, ...head } = JSON.parse(stdout);
  t.like(head, { status: 'completed', total_urls: 3, completed_urls: 3, duplicates_removed: 2, dead: 1, failing: 1 });
  t.deepEqual(
    results.map((r: Record<string, unknown>) => [r.url, r.file, r.row, r.verdict]),
    [
      [`${site.origin}/fine`, null, null, 'ok'],
      [`${site.origin}/once`, list, 2, 'redirected'],
      [`${site.origin}/404`, json, 2, 'broken'],
    ],
  );
  t.deepEqual(
    head.inputs.map((input: Record<string, unknown>) => [input.name, input.format]),
    [
      [list, 'text'],
      [json, 'json'],
    ],
  );
  t.deepEqual(site.requests.toSorted(), ['/404', '/fine', '/fine', '/once']);
});

test('the exit code is that of the verdicts that --fail-on names', async (t) => {
  const { site, run } = await checkWorld(t);
  const url = (path: string) => site.origin + path;
  const codeOf = async (...args: string[]) => (await run(['-q', ...args])).code;
  t.is(await codeOf(url('/fine'), url('/once')), 0);
  t.is(await codeOf(url('/fine'), url('/404')), 1);
  t.is(await codeOf(url('/soft/a')), 1);
  t.is(await codeOf(url('/challenge')), 0);
  t.is(await codeOf(url('/challenge'), '--fail-on', 'blocked'), 1);
  t.is(await codeOf(url('/404'), '--fail-on', 'unreachable'), 0);
  t.is(await codeOf(url('/404'), '--fail-on', 'none'), 0);
  t.is(await codeOf(url('/once'), '--fail-on', 'redirected,broken'), 1);
});

test('--only lists its verdicts alone in every format, and does not change the exit code', async (t) => {
  const { site, folder, run } = await checkWorld(t);
  const urls = ['/fine', '/404', '/once', '/challenge'].map((path) => site.origin + path);
  const out = join(folder, 'some.csv');

  const { code, stdout } = await run([...urls, '--only', 'redirected', '--json', '-o', out]);

  t.is(code, 1);
  t.deepEqual(
    resultsOf(stdout).map(({ url }) => url),
    [urls[2]],
  );
  t.is((await readFile(out, 'utf8')).trim().split('\n').length, 2);
  const text = (await run([...urls, '--only', 'redirected'])).stdout;
  t.true(text.includes(`\nRedirected\n  → ${urls[2]}\n      to ${site.origin}/fine\n`));
  t.notRegex(text, /Dead/);
});

test('--quiet prints nothing, and still writes files and the format that was asked for', async (t) => {
  const { site, folder, write, run } = await checkWorld(t);
  const file = await write('two.csv', `page,from\n${site.origin}/fine,${site.origin}/no-content\n`);
  const out = join(folder, 'out.html');
  t.deepEqual(await run([file, '-q', '-o', out]), { code: 0, stdout: '', stderr: '' });
  t.true(existsSync(out));
  const { stdout, stderr } = await run([file, '-q', '--format', 'csv']);
  t.is(stderr, '');
  t.is(stdout.trim().split('\n').length, 3);
});

test('--column chooses the column; the command names it and the other columns with URLs', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const file = await write('two.csv', `page,from\n${site.origin}/fine,${site.origin}/404\n`);
  const chosen = await run([file, '--column', 'FROM', '--json']);
  t.regex(chosen.stderr, /^Column B \("from"\) was read\.\nOther columns hold URLs: A \("page"\)/);
  t.deepEqual(
    resultsOf(chosen.stdout).map(({ url }) => url),
    [`${site.origin}/404`],
  );
  await t.throwsAsync(run([file, '--column', 'link']), { message: /two\.csv: .*no column "link".*"page", "from"/ });
});

test('an interrupted check says what it has and is kept; --resume asks only the rest, and nothing is kept then', async (t) => {
  const interrupted = new AbortController();
  let answers = false;
  const { site, write, run, kept, folder } = await checkWorld(t, {
    behaviours: {
      '/waits': (_request, socket) => (answers ? page(socket, 'now') : interrupted.abort()),
    },
  });
  const file = await write(
    'urls.txt',
    ['/fine', '/404', '/waits', '/once'].map((path) => site.origin + path).join('\n'),
  );
  const out = join(folder, 'out.csv');

  const first = await run([file, '--per-host', '1', '-o', out], { signal: interrupted.signal });
  t.is(first.code, 130);
  t.regex(first.stdout, /\n2 of 4 URLs checked in/);
  t.regex(
    first.stderr,
    /^Interrupted: 2 of 4 URLs are checked, and their results kept in .*\nThe same command with --resume continues\.\n$/,
  );
  t.is((await readFile(out, 'utf8')).trim().split('\n').length, 3);
  t.is((await kept()).length, 1);

  answers = true;
  const other = await write('other.txt', `${site.origin}/fine\n`);
  t.is((await run([other])).code, 0);
  t.deepEqual(site.requests, ['/fine', '/404', '/waits', '/fine']);

  const second = await run([file, '--resume', '-o', out, '--json']);
  t.is(second.code, 1);
  t.is(second.stderr, 'Continuing: 2 of 4 URLs are checked.\n');
  t.deepEqual(site.requests.slice(4).toSorted(), ['/fine', '/once', '/waits']);
  t.deepEqual(
    resultsOf(second.stdout).map(({ verdict }) => verdict),
    ['ok', 'broken', 'ok', 'redirected'],
  );
  t.deepEqual(await kept(), []);

  const third = await run([file, '--resume']);
  t.regex(third.stderr, /^There is no interrupted check of this input: it starts again\./);
});

test('--resume without an input continues with the last interrupted check, and refuses when there is none', async (t) => {
  const { site, run, kept } = await checkWorld(t);
  await t.throwsAsync(run(['--resume']), { instanceOf: InputError, message: /no interrupted check/ });
  t.is((await run([`${site.origin}/fine`, '--keep'])).code, 0);
  t.is((await kept()).length, 1);
  const again = await run(['--resume', '--format', 'github']);
  t.is(again.code, 0);
  t.is(again.stdout, '1 of 1 URLs checked, 0 failing\n');
  t.deepEqual(site.requests, ['/fine']);
  t.deepEqual(await kept(), []);
});

test('a check that is interrupted before its first result leaves nothing', async (t) => {
  const interrupted = new AbortController();
  const { site, run, kept, folder } = await checkWorld(t, { behaviours: { '/waits': () => interrupted.abort() } });
  const out = join(folder, 'out.csv');
  const { code, stdout, stderr } = await run([`${site.origin}/waits`, '-o', out], { signal: interrupted.signal });
  t.deepEqual([code, stdout, stderr], [130, '', 'Interrupted before the first result.\n']);
  t.false(existsSync(out));
  t.deepEqual(await kept(), []);
});

test('two checks at once do not disturb each other', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const file = await write('urls.txt', Array.from({ length: 50 }, (_, n) => `${site.origin}/soft/${n}`).join('\n'));
  const runs = await Promise.all([
    run([file, '--json']),
    run([file, '--json']),
    run([`${site.origin}/fine`, '--json']),
  ]);
  t.deepEqual(
    runs.map(({ code, stdout }) => [code, resultsOf(stdout).length]),
    [
      [1, 50],
      [1, 50],
      [0, 1],
    ],
  );
});

test('--resume refuses a run that another process works on', async (t) => {
  const interrupted = new AbortController();
  const asked = Promise.withResolvers<void>();
  const { site, run } = await checkWorld(t, { behaviours: { '/waits': () => asked.resolve() } });
  const running = run([`${site.origin}/waits`], { signal: interrupted.signal });
  await asked.promise;
  const again = run([`${site.origin}/waits`, '--resume']);
  await t.throwsAsync(again, { instanceOf: InputError, message: /^Another process works on the check/ });
  interrupted.abort();
  t.is((await running).code, 130);
});

test('the command refuses private addresses unless they are allowed', async (t) => {
  const { site, run } = await checkWorld(t);
  const env = { CHECKER_ALLOW_ADDRESSES: '' };
  const { code, stdout } = await run([`${site.origin}/fine`], { env });
  t.is(code, 1);
  t.regex(stdout, /a private address, see --allow-address/);
  t.deepEqual(site.requests, []);
  t.is((await run([`${site.origin}/fine`, '--allow-address', '127.0.0.0/8'], { env })).code, 0);
});

const WRONG: readonly [
  what: string,
  args: (folder: string) => string[],
  error: new (message: string) => Error,
  message: RegExp,
][] = [
  ['a file that is not there', (f) => [`${f}/no.csv`], InputError, /no\.csv: there is no such file$/],
  [
    'a host instead of a URL',
    () => ['example.com/a'],
    InputError,
    /no such file. If it is a URL: https:\/\/example\.com\/a$/,
  ],
  ['an empty folder', (f) => [`${f}/folder.csv`], InputError, /: there is no document or table to read$/],
  ['a file without URLs', (f) => [`${f}/none.csv`], InputError, /none\.csv: There is no URL to check/],
  ['an empty file', (f) => [`${f}/empty.csv`], InputError, /empty\.csv: The file is empty/],
  [
    'results in no folder',
    (f) => [`${f}/a.txt`, '-o', `${f}/no/where.csv`],
    OutputError,
    /^--out .*no\/where\.csv: ENOENT/,
  ],
  ['results in a folder', (f) => [`${f}/a.txt`, '-o', `${f}/folder.csv`], OutputError, /folder\.csv: EISDIR/],
  ['results over the input', (f) => [`${f}/a.txt`, '-o', `${f}/./a.txt`], OutputError, /a\.txt: it is an input/],
  [
    'results over a link to the input',
    (f) => [`${f}/a.txt`, '-o', `${f}/link.csv`],
    OutputError,
    /link\.csv: it is an input/,
  ],
  [
    'results twice in a file',
    (f) => [`${f}/a.txt`, '-o', `${f}/x.csv`, '-o', `${f}/x.csv`],
    OutputError,
    /another --out/,
  ],
];
for (const [what, args, error, message] of WRONG) {
  test(`${what} is refused before the first request, and nothing is left`, async (t) => {
    const { site, folder, write, run, kept } = await checkWorld(t);
    await write('a.txt', `${site.origin}/fine\n`);
    await write('none.csv', 'name\nalice\n');
    await write('empty.csv', '');
    await mkdir(join(folder, 'folder.csv'));
    await link(join(folder, 'a.txt'), join(folder, 'link.csv'));
    await t.throwsAsync(run(args(folder)), { instanceOf: error, message });
    t.deepEqual(site.requests, []);
    t.deepEqual(await kept(), []);
    t.false(existsSync(join(folder, 'x.csv')));
  });
}

test('wrong settings and too many URLs are refused', async (t) => {
  const { site, run } = await checkWorld(t);
  const url = `${site.origin}/fine`;
  await t.throwsAsync(run([url], { env: { CHECKER_RETRIES: 'x' } }), {
    instanceOf: ConfigError,
    message: /CHECKER_RETRIES/,
  });
  await t.throwsAsync(run([url, `${url}?2`], { env: { MAX_URLS_PER_JOB: '1' } }), { message: /more than 1 / });
  t.deepEqual(site.requests, []);
});
