// The documents keep their word: links lead somewhere, and what they list is what the code has.
import { existsSync, readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { VOCABULARY } from '../events/vocabulary.ts';
import { ALL_PROJECTIONS } from '../projections/all.ts';
import { SETTINGS } from '../settings/config.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = (
  await Array.fromAsync(glob(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/**/*.md'], { cwd: root }))
).sort();

/** Without code, in which brackets are no links. */
const prose = (file: string) => read(file).replace(/^```[\s\S]*?^```/gm, '');

/** The targets of a document's links, inline and by reference. */
function linksOf(file: string): string[] {
  const text = prose(file).replace(/(?<!\[)`[^`\n]*`(?!\])/g, '');
  const inline = [...text.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)];
  const by_reference = [...text.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  return [...inline, ...by_reference].map((link) => link[1]!);
}

/** The anchors of a document's headings, as they are made where it is shown. */
function anchorsOf(file: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...prose(file).matchAll(/^#{1,6} (.+)$/gm)].map((heading) =>
    heading[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
  return new Set(
    headings.map((anchor) => {
      const before = seen.get(anchor) ?? 0;
      seen.set(anchor, before + 1);
      return before === 0 ? anchor : `${anchor}-${before}`;
    }),
  );
}

function broken(file: string, link: string): boolean {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return false;
  const [path = '', anchor] = decodeURIComponent(link).split('#');
  const target = path === '' ? file : join(dirname(file), path);
  if (target.startsWith('..') || !existsSync(join(root, target))) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
}

for (const file of documents) {
  test(`the links of ${file} lead to existing files and headings`, (t) => {
    t.deepEqual(
      linksOf(file).filter((link) => broken(file, link)),
      [],
    );
  });
}

/** What the pages for people at the console set in bold, and the console shows. */
for (const file of ['docs/tutorials/first-spreadsheet.md', 'docs/console.md']) {
  test(`the console has the buttons and links that ${file} names`, async (t) => {
    const web = await Array.fromAsync(glob('web/**/*.{ts,tsx}', { cwd: root }));
    const shown = web.map((name) => read(name)).join('\n');
    const names = [...prose(file).matchAll(/\*\*([^*]+)\*\*/g)].map(([, name]) => name!);
    t.true(names.length > 2);
    t.deepEqual(
      names.filter((name) => !shown.includes(name)),
      [],
    );
  });
}

test('the check finds a broken link', (t) => {
  const file = 'docs/architecture.md';
  t.true(linksOf(file).length > 5);
  t.true(broken(file, 'nowhere.md'));
  t.true(broken(file, '../../outside.md'));
  t.true(broken(file, '#no-such-heading'));
  t.false(broken(file, '#streams-and-events'));
  t.false(broken(file, '../settings/config.ts'));
});

for (const file of ['CONTRIBUTING.md', 'README.md']) {
  test(`the commands of ${file} and their files exist`, (t) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const commands = [...read(file).matchAll(/npm (?:run (?:-s |--silent )?([\w:]+)|(test|start)\b)/g)];
    t.true(commands.length > 3);
    t.deepEqual(
      commands.map(([, run, short]) => run ?? short!).filter((name) => !(name in scripts)),
      [],
    );
    const files = [...read(file).matchAll(/\b(?:test|bench)\/[\w/.-]+\.ts\b/g)].map(([name]) => name);
    t.deepEqual(
      files.filter((name) => !existsSync(join(root, name))),
      [],
    );
  });
}

for (const [folder, what] of [
  ['docs/decisions', 'decision'],
  ['bench/notes', 'laboratory note'],
] as const) {
  test(`the index lists every ${what}`, (t) => {
    const pages = documents.filter((file) => file.startsWith(`${folder}/`) && !file.endsWith('/README.md'));
    t.true(pages.length > 0);
    const rows = [...read(`${folder}/README.md`).matchAll(/^\| \[\d{4}\]\(([^)]+)\)/gm)];
    t.deepEqual(
      rows.map(([, page]) => `${folder}/${page}`),
      pages,
    );
  });
}

test('each decision has a status, which names what replaced or amended it', (t) => {
  const rows = [...read('docs/decisions/README.md').matchAll(/^\| \[\d{4}\]\([^)]*\) \| [^|]+ \| ([^|]+) \|$/gm)];
  t.true(rows.length > 80);
  t.deepEqual(
    rows.map(([, status]) => status!).filter((status) => !/^(in force|replaced by \[)/.test(status)),
    [],
  );
});

const PAGES = documents.filter((file) => /^docs\/(tutorials|guides|explanation)\//.test(file));

test('each decision is named by the code or the page that it explains, and none that does not exist', async (t) => {
  const exclude = (name: string) => name === 'node_modules' || name === 'decisions' || name === 'notes';
  const explained = await Array.fromAsync(glob(['**/*.md', '**/*.ts', '**/*.tsx', '.ci/*.ts'], { cwd: root, exclude }));
  const numbers = documents.flatMap((file) => /^docs\/decisions\/0*(\d+)-/.exec(file)?.[1] ?? []);
  t.true(numbers.length > 100);
  const named = explained.flatMap((file) => {
    const text = read(file);
    const by_number = [...text.matchAll(/\b[Dd]ecisions? (\d+(?:(?:, | and )\d+)*)/g)].flatMap(
      ([, list]) => list!.match(/\d+/g)!,
    );
    return [...by_number, ...[...text.matchAll(/\bdecisions\/0*(\d+)-/g)].map(([, number]) => number!)];
  });
  t.deepEqual(
    numbers.filter((number) => !named.includes(number)),
    [],
  );
  t.deepEqual(
    named.filter((number) => !numbers.includes(number)),
    [],
  );
});

test('architecture.md names the commands that append without a state', async (t) => {
  const [, sentence] = /^them\. ([\s\S]+?) append without a state/m.exec(read('docs/architecture.md'))!;
  const commands = await Array.fromAsync(glob('commands/**/*.ts', { cwd: root }));
  const appending = commands.filter((file) => !file.endsWith('/aggregate.ts') && /\blog\.append\(/.test(read(file)));
  t.deepEqual(sentence!.match(/`[\w-]+`/g)!.sort(), appending.map((file) => `\`${basename(file, '.ts')}\``).sort());
});

/** Numbers that sentences state, and the line of the code that each must equal. */
const STATED = [
  ['docs/architecture.md', /, in (\d+) streams a day/, 'commands/reported-events.ts', /^const SHARDS = (\d+);/m],
  [
    'docs/decisions/0058-intake-and-export.md',
    /one of (\d+) streams of its day/,
    'commands/reported-events.ts',
    /^const SHARDS = (\d+);/m,
  ],
  [
    'docs/architecture.md',
    /one of every (\d+) carries/,
    'commands/ledger/ledger-snapshots.ts',
    /^const EVERY_ENTRIES = (\d+);/m,
  ],
  ['readmodels/webhooks.ts', /its last (\d+) attempts/, 'readmodels/webhooks.ts', /KEPT_ATTEMPTS = (\d+);/],
  [
    'readmodels/operations/proxies.ts',
    /of a proxy, (\d+) domains at most/,
    'readmodels/operations/proxies.ts',
    /MAX_TROUBLED_DOMAINS = (\d+);/,
  ],
] as const;

for (const [file, stated, code, constant] of STATED) {
  test(`the number in ${file} of ${constant.source} is the code's`, (t) => {
    t.is(stated.exec(read(file))?.[1], constant.exec(read(code))![1]);
  });
}

test('the index of the documentation lists every page', (t) => {
  t.true(PAGES.length > 20);
  const index = new Set(linksOf('docs/README.md').map((link) => `docs/${link}`));
  const others = ['docs/architecture.md', 'docs/comparison.md', 'docs/console.md', 'docs/faq.md', 'docs/glossary.md'];
  t.deepEqual(
    [...PAGES, ...others].filter((file) => !index.has(file)),
    [],
  );
});

test('each page with commands has a test that runs them', async (t) => {
  const tests = await Array.fromAsync(glob('test/{guides,servers}/*.test.ts', { cwd: root }));
  const sources = tests.map(read).join('\n');
  const with_commands = PAGES.filter((file) => /^```sh$/m.test(read(file)));
  t.true(with_commands.length > 15);
  t.deepEqual(
    with_commands.filter((file) => !['runGuide', 'runDemoGuide'].some((run) => sources.includes(`${run}('${file}'`))),
    [],
  );
});

test('the table of folders matches the import rules', async (t) => {
  const rules = join(root, '.dependency-cruiser.mjs');
  const { FOLDERS } = (await import(pathToFileURL(rules).href)) as { FOLDERS: Record<string, string[] | 'any'> };
  const section = /^## Folders$([\s\S]*?)^## /m.exec(read('docs/architecture.md'))![1]!;
  const rows = [...section.matchAll(/^\| (`.+?`) \| .+ \| (.+) \|$/gm)];
  const said = rows.flatMap(([, folders, may_import]) =>
    [...folders!.matchAll(/`([^`]+)\/`/g)].map(([, folder]) => [folder!, may_import!] as const),
  );
  const held = Object.entries(FOLDERS).map(([folder, may_import]) => {
    if (folder === 'adapters') return [folder, 'the port that it implements'];
    return [folder, may_import === 'any' ? 'any' : may_import.join(', ') || 'none'];
  });
  t.deepEqual(Object.fromEntries(said), Object.fromEntries(held));
});

test('the table of streams names every category of the log and every event type', (t) => {
  const section = /^## Streams and events$([\s\S]*?)^## /m.exec(read('docs/architecture.md'))![1]!;
  const unnamed = Object.entries(VOCABULARY).flatMap(([category, types]) => {
    const rows = section.split('\n').filter((line) => line.startsWith(`| \`${category}-`));
    return Object.keys(types).filter((type) => !rows.some((row) => row.includes(`\`${type}\``)));
  });
  t.deepEqual(unnamed, []);
});

test('docker-compose.yml passes on every setting and no other', (t) => {
  const compose = read('docker-compose.yml');
  // The image says where the service listens and keeps its files; logs go to standard output.
  const set_by_image = ['HOST', 'PORT', 'METRICS_PORT', 'DATA_DIR', 'LOG_FILE'];
  const passed_on = new Set([...compose.matchAll(/^ {2,6}([A-Z][A-Z0-9_]+): /gm)].map((line) => line[1]!));
  const of_other_servers = [...passed_on].filter((name) => name.startsWith('EVENTSTORE_') && !(name in SETTINGS));
  t.deepEqual(
    [...passed_on].filter((name) => !of_other_servers.includes(name)).sort(),
    Object.keys(SETTINGS)
      .filter((name) => !set_by_image.includes(name))
      .sort(),
  );
});

test('docker-compose.yml passes on what must be the same in several roles to each of them', (t) => {
  const compose = read('docker-compose.yml');
  const sectionOf = (role: string) => {
    const begin = role === 'all' ? 'x-environment: ' : `\n  ${role}:\n`;
    return compose.slice(compose.indexOf(begin) + begin.length).split(/\n {0,2}[a-z]/)[0]!;
  };
  const settings = /^## Settings$([\s\S]*?)^## /m.exec(read('docs/guides/deploying.md'))![1]!;
  const rows = [...settings.matchAll(/^\| (`.*`) \| ([a-z, ]+) \|/gm)].map(([, names, roles]) => ({
    names: [...names!.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name!),
    roles: roles!.split(', '),
  }));
  t.true(rows.length > 10);
  for (const { names, roles } of rows) {
    for (const role of roles) for (const name of names) t.regex(sectionOf(role), new RegExp(`^ +${name}: `, 'm'), role);
  }
});

test('architecture.md says of every stream and of every collection what it costs and when it goes', (t) => {
  const section = /^## What is kept.*$([\s\S]*?)^## /m.exec(read('docs/architecture.md'))![1]!;
  const rows = section.split('\n').flatMap((line) => {
    const cells = /^\| (.+) \| (.+) \| (.+) \|$/.exec(line);
    return cells ? [cells.slice(1)] : [];
  });
  const named = new Set(rows.flatMap(([what]) => what!.match(/`[^`]+`/g) ?? []));
  const streams = Object.keys(VOCABULARY).map((category) => `\`${category}-\``);
  const collections = ALL_PROJECTIONS.flatMap((each) => each.collections.map(({ name }) => `\`${name}\``));
  t.deepEqual(
    [...streams, ...collections].filter((name) => !named.has(name)),
    [],
  );
});
