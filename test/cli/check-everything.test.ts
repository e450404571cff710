// A check reads all that it is given: every URL of a text, all columns of a table, folders and globs; and says what it did not read.
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { inlineRow, workbook } from '../intake/uploads.ts';
import type { CheckWorld } from '../support/check-command.ts';
import { checkWorld } from '../support/check-command.ts';

/** The paths of the URLs that a check found, with the place of each, in the order of the report. */
async function found({ run, site }: CheckWorld, ...args: string[]) {
  const { code, stdout, stderr } = await run([...args, '--json']);
  const { results, rejected } = JSON.parse(stdout);
  const urls = results.map(({ url, row, cell }: Record<string, unknown>) =>
    [String(url).replace(site.origin, ''), cell ?? row].join(' '),
  );
  return { code, urls, rejected, stderr };
}

async function put(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

const MARKDOWN = (at: string) => `# Links

| page | mirror |
| --- | --- |
| [one](${at}/soft/1) | ${at}/soft/2 |
|${at}/soft/3|see ${at}/soft/4, or <${at}/soft/5>|

Prose, with commas; see ${at}/soft/6, and (${at}/soft/7?a=1,2).
`;

for (const name of ['table.md', 'table.txt']) {
  test(`every URL of ${name} is checked, with two columns of links, and commas and bars in prose`, async (t) => {
    const world = await checkWorld(t);
    const file = await world.write(name, MARKDOWN(world.site.origin));
    const { code, urls, stderr } = await found(world, file);
    t.deepEqual(urls, [
      '/soft/1 5',
      '/soft/2 5',
      '/soft/3 6',
      '/soft/4 6',
      '/soft/5 6',
      '/soft/6 8',
      '/soft/7?a=1,2 8',
    ]);
    t.is(code, 1);
    t.is(stderr, '');
  });
}

test('a broken link in the second column of a Markdown table fails a quiet check', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const file = await write('a.md', `| a | b |\n|---|---|\n| ${site.origin}/fine | ${site.origin}/404 |\n`);
  t.is((await run([file, '--quiet'])).code, 1);
});

test('all columns of a table with URLs are read in the order of its rows, unless one is named', async (t) => {
  const world = await checkWorld(t);
  const { origin } = world.site;
  const file = await world.write(
    'two.csv',
    `page,from,note\n${origin}/soft/1,${origin}/soft/2,none\n${origin}/soft/3,,"see ${origin}/soft/4, please"\n`,
  );
  const all = await found(world, file);
  t.deepEqual(all.urls, ['/soft/1 A2', '/soft/2 B2', '/soft/3 A3', '/soft/4 C3']);
  t.regex(
    all.stderr,
    /^Columns A \("page"\), B \("from"\), C \("note"\) were read\. --column takes one of them alone\.\n$/,
  );
  t.deepEqual((await found(world, file, '--column', 'from')).urls, ['/soft/2 B2']);
});

test('a column whose first URL is far below the beginning of the table is read too', async (t) => {
  const world = await checkWorld(t);
  const { origin } = world.site;
  const rows = Array.from({ length: 900 }, (_, n) => `${origin}/fine,${n === 800 ? `${origin}/404` : 'none'}`);
  const file = await world.write('long.csv', ['page,other', ...rows].join('\n'));
  const { code, urls } = await found(world, file);
  t.deepEqual(urls, ['/fine A2', '/404 B802']);
  t.is(code, 1);
});

test('all sheets of a workbook, and all names of JSON, are read', async (t) => {
  const world = await checkWorld(t);
  const { origin } = world.site;
  const json = await world.write(
    'b.json',
    JSON.stringify([{ link: `${origin}/soft/1`, from: { page: `${origin}/soft/2` } }, { link: `${origin}/soft/3` }]),
  );
  t.deepEqual((await found(world, json)).urls.toSorted(), ['/soft/1 1', '/soft/2 1', '/soft/3 2']);
  const sheets = [inlineRow(`${origin}/soft/4`, `${origin}/soft/5`), inlineRow(`${origin}/soft/6`)];
  const book = await world.write('c.xlsx', await workbook({ sheets }));
  const read = await found(world, book);
  t.deepEqual(read.urls, ['/soft/4 A1', '/soft/5 B1', '/soft/6 A1']);
});

test('a table from standard output of another program keeps its commas', async (t) => {
  const world = await checkWorld(t);
  const { origin } = world.site;
  const file = await world.write('list', `id,link,title\n1,${origin}/soft/1,One\n2,${origin}/soft/2,Two\n`);
  t.deepEqual((await found(world, file)).urls, ['/soft/1 B2', '/soft/2 B3']);
});

test('a folder stands for the documents and tables in it, a glob for what it matches, and --exclude leaves out', async (t) => {
  const world = await checkWorld(t);
  const { origin } = world.site;
  const docs = join(world.folder, 'docs');
  await put(docs, {
    'a.md': `${origin}/soft/a`,
    'deep/b.html': `<a href="${origin}/soft/b">b</a>`,
    'deep/c.csv': `link\n${origin}/soft/c\n`,
    'drafts/d.md': `${origin}/soft/d`,
    'empty.md': '',
    'words.txt': 'No links here.\nNone at all, of any kind.\n',
    'node_modules/x/e.md': `${origin}/soft/e`,
    '.hidden/f.md': `${origin}/soft/f`,
    'package-lock.json': `{"url": "${origin}/soft/g"}`,
    'picture.png': 'no',
  });
  await symlink(docs, join(docs, 'deep', 'loop'));
  const whole = await found(world, docs);
  t.deepEqual(
    whole.urls.map((one: string) => one.split(' ')[0]),
    ['/soft/a', '/soft/b', '/soft/c', '/soft/d'],
  );
  t.regex(whole.stderr, /docs: 1 JSON, XML or gzip file is not read/);
  const some = async (...args: string[]) => (await found(world, ...args)).urls.map((one: string) => one.split(' ')[0]);
  t.deepEqual(await some(docs, '--exclude', 'drafts', '--exclude', '*.csv'), ['/soft/a', '/soft/b']);
  t.deepEqual(await some(docs, '--exclude', `${origin}/soft/a`, '--exclude', `${origin}/*/d`), ['/soft/b', '/soft/c']);
  t.deepEqual(await some(join(docs, '**/*.md')), ['/soft/a', '/soft/d']);
  t.deepEqual(await some(docs, join(docs, 'a.md')), ['/soft/a', '/soft/b', '/soft/c', '/soft/d']);
  await t.throwsAsync(world.run([join(docs, '*.rst')]), { message: /\*\.rst: there is no document or table to read/ });
});

test('a quiet check says what of its input it did not check', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const file = await write('links.csv', `link\n${site.origin}/fine\nhtp:/typo\n`);
  const { code, stdout, stderr } = await run([file, '--quiet']);
  t.deepEqual([code, stdout], [0, '']);
  t.regex(stderr, /^Not checked: 1 text without a URL, such as .*links\.csv:3 "htp:\/typo"/);
});

test.serial('a home that cannot be written is no error; a folder that the user names has to be usable', async (t) => {
  const { site, write, run } = await checkWorld(t);
  const path = join(await write('a-file', ''), 'state');
  const before = (await readdir(tmpdir())).filter((name) => name.startsWith('url-checker-check-'));
  for (const home of [path, null]) {
    const { code, stderr } = await run([`${site.origin}/fine`], { runs: { path: home, is_named: false } });
    t.is(code, 0);
    t.regex(stderr, /^An interrupted check cannot be resumed: /);
  }
  const after = (await readdir(tmpdir())).filter((name) => name.startsWith('url-checker-check-'));
  t.deepEqual(after, before);
  await t.throwsAsync(run([`${site.origin}/fine`], { runs: { path, is_named: true } }), { message: /ENOTDIR/ });
});

test.serial('an interrupted check without a home prints what it has, and says that it is not kept', async (t) => {
  const interrupted = new AbortController();
  const { site, run } = await checkWorld(t, { behaviours: { '/waits': () => interrupted.abort() } });
  const { code, stderr } = await run([`${site.origin}/fine`, `${site.origin}/waits`, '--per-host', '1'], {
    signal: interrupted.signal,
    runs: { path: null, is_named: false },
  });
  t.is(code, 130);
  t.regex(stderr, /\nInterrupted: 1 of 2 URLs are checked\.\n$/);
});
