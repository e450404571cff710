// False soft 404s among real documents: the HTML documentation in Debian packages, in some thirty languages. Each document is judged
// as a page of a site that answers an unknown name with 404.
// node bench/soft-404-documents.ts [--most 120000] [PACKAGE…]
// It downloads the packages with apt-get, one at a time, and removes each after it.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { decodeText, MAX_HTML_BYTES } from '../checkers/engine/body.ts';
import { readSigns } from '../checkers/engine/html.ts';
import { isSoft, needsProbe, suspicionOf } from '../checkers/engine/soft-404.ts';

const run = promisify(execFile);

const HELP_LANGUAGES =
  'ca cs da de dz el es et eu fi fr gl hi hu id it ja km ko nl om pl pt pt-br ru sk sl sv tr vi zh-cn zh-tw en-us en-gb'.split(
    ' ',
  );
const PACKAGES = [
  ...HELP_LANGUAGES.map((language) => `libreoffice-help-${language}`),
  ...[
    'debian-handbook',
    'python3.11-doc',
    'postgresql-doc-15',
    'erlang-doc',
    'r-doc-html',
    'linux-doc-6.1',
    'rust-doc',
  ],
  ...['openjdk-17-doc', 'libboost1.81-doc', 'qtbase5-doc-html', 'qtdeclarative5-doc-html', 'lilypond-doc-html'],
];

/** The error pages of the documentation itself, among them the one of LibreOffice's help. */
const NOT_FOUND_FILE = /\/(?:404|not[-_]?found|err_html)\.html?$/i;

interface Totals {
  documents: number;
  bytes: number;
  cpu_ms: number;
  probes: number;
  false_alarms: string[];
}

const { values, positionals } = parseArgs({ options: { most: { type: 'string' } }, allowPositionals: true });
const most = Number(values.most ?? 120_000);
const totals: Totals = { documents: 0, bytes: 0, cpu_ms: 0, probes: 0, false_alarms: [] };

for (const name of positionals.length > 0 ? positionals : PACKAGES) {
  if (totals.documents >= most) break;
  const folder = await mkdtemp(join(tmpdir(), 'soft-404-documents-'));
  try {
    await run('apt-get', ['download', name], { cwd: folder });
    const [archive] = await readdir(folder);
    await run('dpkg-deb', ['-x', archive!, 'files'], { cwd: folder });
    const before = totals.documents;
    await judgeAll(join(folder, 'files'), name);
    console.log(`${name.padEnd(28)} ${totals.documents - before} documents`);
  } catch (error) {
    console.log(`${name.padEnd(28)} could not be fetched: ${(error as Error).message.split('\n', 1)[0]}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

for (const alarm of totals.false_alarms) console.log(`soft: ${alarm}`);
const { documents, bytes, cpu_ms, probes, false_alarms } = totals;
const a_hundred_thousand = ((false_alarms.length / documents) * 100_000).toFixed(1);
console.log(
  `${documents} documents, ${Math.round(bytes / 2 ** 20)} MiB, ${((cpu_ms / documents) * 1000).toFixed(1)} µs each`,
);
console.log(
  `${false_alarms.length} false soft 404s, ${a_hundred_thousand} in 100,000; ${probes} documents would be probed`,
);

async function judgeAll(root: string, name: string): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.x?html?$/i.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    if (NOT_FOUND_FILE.test(path)) continue;
    judge(await readFile(path), `${name} ${relative(root, path)}`);
  }
}

function judge(file: Buffer, name: string): void {
  const url = new URL(`http://docs.example/${encodeURI(name.replace(' ', '/'))}`);
  const before = process.cpuUsage();
  const html = decodeText(file.subarray(0, MAX_HTML_BYTES), '');
  const signs = readSigns(html);
  const { points, work } = suspicionOf(html, signs, url, url, false);
  const { user, system } = process.cpuUsage(before);
  totals.documents++;
  totals.bytes += file.length;
  totals.cpu_ms += (user + system) / 1000;
  if (needsProbe(points, work)) totals.probes++;
  if (isSoft(points, 'honest', work))
    totals.false_alarms.push(`${name} — ${signs.title} — ${signs.headings[0]?.text ?? ''}`);
}
