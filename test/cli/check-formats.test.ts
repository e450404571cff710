// The formats of `check` with what hostile files and servers put into them.

import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { SaxesParser } from 'saxes';
import type { Checked, CheckedUrl } from '../../cli/check/checked.ts';
import { type Format, reportOf } from '../../cli/check/formats.ts';
import { plain, SECTIONS } from '../../cli/check/text.ts';
import { DEAD } from '../../cli/check/verdict-sets.ts';
import { type Outcome, VERDICTS, type Verdict } from '../../events/checks.ts';

const EVIL =
  'http://a.example/?q="><script>alert(1)</script>&\'%0A::error::%,:\u0000\u001b[31m\u0085\u202e\ud800\ufffe]]>\r\n::error file=x::y';

const OUTCOME: Outcome = {
  status_code: 404,
  final_url: EVIL,
  is_broken: true,
  is_soft_404: false,
  redirect_chain: [EVIL],
  response_time_ms: 1234,
  content_type: null,
  error_code: null,
  verdict: 'broken',
  protection: null,
  attempts: 1,
};
const url = (verdict: Verdict, fields: Partial<CheckedUrl> = {}): CheckedUrl => ({
  ...OUTCOME,
  verdict,
  url: `http://${verdict.replace('_', '-')}.example/`,
  file: 'links.csv',
  row: 2,
  cell: 'B2',
  ...fields,
});

function checkedOf(results: readonly CheckedUrl[], fields: Partial<Checked> = {}): Checked {
  const count = (verdict: Verdict) => results.filter((one) => one.verdict === verdict).length;
  const completed_urls = results.length;
  const counts = { duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 };
  return {
    counts: { total_urls: completed_urls, completed_urls, ...counts },
    verdicts: Object.fromEntries(VERDICTS.map((verdict) => [verdict, count(verdict)])),
    seconds: 1.5,
    began_at: new Date('2026-01-31T09:00:00.000Z'),
    inputs: [],
    rejected: [],
    fail_on: DEAD,
    only: null,
    results: (verdicts = VERDICTS) => results.filter(({ verdict }) => verdicts.includes(verdict)),
    ...fields,
  };
}
const written = (format: Format, checked: Checked) => text(Readable.from(reportOf(checked, format, plain)));
const ALL = VERDICTS.map((verdict) => url(verdict));
const HOSTILE = [
  url('broken', { url: EVIL, file: 'a,b:c%\n::.csv' }),
  url('redirected', { url: EVIL }),
  url('blocked', { url: EVIL, file: EVIL }),
];

interface Element {
  name: string;
  attributes: Record<string, string>;
  children: Element[];
  text: string;
}

/** The document's elements. Throws when it is not well-formed. */
function parsed(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    const element = { name, attributes: attributes as Record<string, string>, children: [], text: '' };
    open.at(-1)!.children.push(element);
    open.push(element);
  });
  parser.on('text', (piece) => (open.at(-1)!.text += piece));
  parser.on('closetag', () => open.pop());
  parser.write(xml).close();
  return root.children[0]!;
}

test('one section of the report has the URLs of each verdict', (t) => {
  t.deepEqual(SECTIONS.flatMap(({ verdicts }) => verdicts).sort(), [...VERDICTS].sort());
});

test('JUnit has what the schemas of Ant and Jenkins want, in their order', async (t) => {
  const suites = parsed(await written('junit', checkedOf(ALL)));
  t.is(suites.name, 'testsuites');
  const [suite] = suites.children;
  t.deepEqual(Object.keys(suite!.attributes).toSorted(), [
    ...['errors', 'failures', 'hostname', 'id', 'name', 'package', 'skipped', 'tests', 'time', 'timestamp'],
  ]);
  t.like(suite!.attributes, { tests: '6', failures: '3', errors: '0', skipped: '1', time: '1.500' });
  t.is(suite!.attributes.timestamp, '2026-01-31T09:00:00');
  t.deepEqual(
    suite!.children.map(({ name }) => name),
    ['properties', ...Array.from({ length: 6 }, () => 'testcase'), 'system-out', 'system-err'],
  );
  const cases = suite!.children.filter(({ name }) => name === 'testcase');
  for (const one of cases) t.deepEqual(Object.keys(one.attributes), ['name', 'classname', 'time']);
  t.deepEqual(
    cases.map(({ children }) => children.map(({ name, attributes }) => [name, attributes.type ?? null])),
    [[], [], [['failure', 'broken']], [['failure', 'soft_404']], [['skipped', null]], [['failure', 'unreachable']]],
  );
  t.is(cases[2]!.attributes.time, '1.234');
  t.regex(cases[2]!.children[0]!.text, /^links\.csv:2\nhttp:\/\/broken\.example\/\n/);
});

test('JUnit counts what --fail-on and --only name', async (t) => {
  const failing = parsed(await written('junit', checkedOf(ALL, { fail_on: ['blocked'] }))).children[0]!;
  t.like(failing.attributes, { tests: '6', failures: '1', skipped: '0' });
  const some = parsed(await written('junit', checkedOf(ALL, { only: ['broken', 'ok'] }))).children[0]!;
  t.like(some.attributes, { tests: '2', failures: '1', skipped: '0' });
});

test('hostile text stays text in XML', async (t) => {
  const suite = parsed(await written('junit', checkedOf(HOSTILE))).children[0]!;
  const [first] = suite.children.filter(({ name }) => name === 'testcase');
  const readable = ['\u0000', '\u001b', '\u0085', '\ud800', '\ufffe'].reduce(
    (text, c) => text.replace(c, '\ufffd'),
    EVIL,
  );
  t.is(first!.attributes.name, readable);
  t.true(first!.children[0]!.text.includes(readable));
});

test('hostile text stays text in HTML, which has no script and loads nothing', async (t) => {
  const html = await written('html', checkedOf(HOSTILE));
  t.notRegex(html, /<script|<img|<link|<iframe|\son\w+=/i);
  t.regex(html, /Content-Security-Policy" content="default-src &apos;none&apos;; style-src &apos;unsafe-inline&apos;/);
  for (const [, target] of html.matchAll(/(?:href|src)="([^"]*)"/g)) t.regex(target!, /^https?:\/\//);
  const odd = await written('html', checkedOf([url('broken', { url: 'javascript:alert(1)' })]));
  t.notRegex(odd, /href="javascript/);
  t.true(odd.includes('javascript:alert(1)'));
});

test('each command of GitHub is one line, escaped as GitHub reads it', async (t) => {
  const lines = (await written('github', checkedOf(HOSTILE))).trimEnd().split('\n');
  t.is(lines.length, 3);
  t.true(
    lines[0]!.startsWith('::error file=a%2Cb%3Ac%25%0A%3A%3A.csv,line=2,title=broken%3A 404::http://a.example/?q='),
  );
  t.regex(lines[0]!, /%250A::error::%25,:/);
  t.regex(lines[1]!, /^::warning file=/);
  t.is(lines[2], '3 of 3 URLs checked, 1 failing');
  t.true(lines.every((line) => !line.includes('\r')));
});

test('GitHub is told no file for a URL of the command line or of standard input', async (t) => {
  const results = [url('broken', { file: null, row: null, cell: null }), url('broken', { file: 'stdin' })];
  for (const line of (await written('github', checkedOf(results))).split('\n').slice(0, 2)) {
    t.regex(line, /^::error title=broken%3A 404::/);
  }
});

test('hostile text does not move the cursor of the terminal', async (t) => {
  const report = await written('text', checkedOf(HOSTILE));
  t.notRegex(report.replaceAll('\n', ''), /\p{C}/u);
});

test('JSON is whole for no result and for many', async (t) => {
  t.deepEqual(JSON.parse(await written('json', checkedOf([]))).results, []);
  const many = JSON.parse(await written('json', checkedOf(Array.from({ length: 5000 }, () => HOSTILE[0]!))));
  t.is(many.results.length, 5000);
  t.is(many.results[4999].url, EVIL);
});

test('a report of an interrupted check says so in every format', async (t) => {
  const checked = checkedOf(ALL);
  const interrupted = { ...checked, counts: { ...checked.counts, total_urls: 100 } };
  t.regex(await written('text', interrupted), /6 of 100 URLs checked/);
  t.is(JSON.parse(await written('json', interrupted)).status, 'interrupted');
  t.regex(await written('html', interrupted), /6 of 100 URLs.*The check was interrupted/);
  t.regex(await written('github', interrupted), /6 of 100 URLs checked/);
});
