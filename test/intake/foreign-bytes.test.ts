// Every parser of uploads that reads foreign bytes: for any bytes it ends soon, with cells or an IntakeError that has a
// code. FUZZ_RUNS sets the number of runs.
import test from 'ava';
import fc from 'fast-check';
import { classifyUrl, INVALID_REASONS, urlLikeness } from '../../intake/classify-url.ts';
import { collectUrls } from '../../intake/collect-urls.ts';
import { parseDomain } from '../../intake/domain.ts';
import { findUrlColumn } from '../../intake/find-column.ts';
import { findLayout } from '../../intake/find-layout.ts';
import { bounded, hostileText } from '../support/hostile-text.ts';
import { LIMITS, outcome, outcomeOf } from './outcomes.ts';

const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? 200), endOnFailure: true };
const TABLE = [
  ...['url', 'URL,name', 'https://a.example/', 'www.a.example', 'a.example/x', 'sep=', 'sep=;', 'SEP=,\n', 'sep="\n'],
  ...[',', ';', '\t', '|', '"', '""', '"\n', '\n', '\r', '\r\n', '\\', "'", ' ', '=HYPERLINK("https://b.example")'],
];
const ADDRESS = [
  ...[
    'http:',
    'https:',
    'HTTPS://',
    '//',
    '/',
    '?',
    '#',
    '@',
    ':',
    '[',
    ']',
    '[::1]',
    '%',
    '%00',
    '\\',
    '..',
    '.',
    '*.',
  ],
  ...['a.example', 'xn--', 'xn--a-', 'www.', '127.0.0.1', '0x7f', '1e9', ':8080', ':99999', 'mailto:', 'javascript:'],
];

test('any text gives a table with URLs or a refusal with a code', async (t) => {
  const names = fc.constantFrom('x.csv', 'x.txt', 'x', '__proto__.tsv');
  await fc.assert(
    fc.asyncProperty(hostileText(TABLE), names, async (text, name) => void (await outcomeOf(text, name))),
    RUNS,
  );
  t.pass();
});

const BOMS = [[], [0xff, 0xfe], [0xfe, 0xff], [0xef, 0xbb, 0xbf], [0xff], [0xef, 0xbb], [0xff, 0xfe, 0, 0]];
const ENCODINGS = ['utf8', 'utf16le', 'latin1'] as const;

test('any bytes give a table with URLs or a refusal with a code', async (t) => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 2_000 }),
    fc
      .tuple(fc.constantFrom(...BOMS), fc.constantFrom(...ENCODINGS), hostileText(TABLE), fc.boolean(), fc.nat(3))
      .map(([bom, encoding, text, swapped, cut]) => {
        const body = Buffer.from(text, encoding);
        const even = body.subarray(0, body.length & ~1);
        const whole = Buffer.concat([Buffer.from(bom), swapped ? Buffer.from(even).swap16() : body]);
        return whole.subarray(0, Math.max(0, whole.length - cut));
      }),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (content) => void (await outcomeOf(content))),
    RUNS,
  );
  t.pass();
});

test('any list gives URLs or a refusal with a code', async (t) => {
  const list = fc.array(fc.oneof(hostileText(ADDRESS), hostileText(TABLE)), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(list, fc.boolean(), async (urls, skip_invalid) => {
      const cells = urls.map((value, row) => ({ row, value }));
      await outcome(async () => collectUrls([cells] as never, { ...LIMITS, skip_invalid, place: 'index' }));
    }),
    RUNS,
  );
  t.pass();
});

test('any text gets one category, and keeps it when it is submitted again', (t) => {
  fc.assert(
    fc.property(
      hostileText(ADDRESS),
      fc.constantFrom('', 'https://', 'a.example', 'https://a.example/'),
      (end, start) => {
        const text = start + end;
        const found = bounded(() => classifyUrl(text, { max_url_chars: 2_048 }));
        const likeness = bounded(() => urlLikeness(text, 2_048));
        if (found.category === 'invalid') return found.reason in INVALID_REASONS && likeness === 0;
        const again = classifyUrl(found.url, { max_url_chars: 2_048 });
        // UTF-8 stores the text without change.
        if (!found.url.isWellFormed()) return false;
        return again.category === 'valid' && again.key === found.key && again.url === found.url;
      },
    ),
    { ...RUNS, numRuns: RUNS.numRuns * 5 },
  );
  t.pass();
});

test('any text gives a domain that parses to itself, or a reason', (t) => {
  fc.assert(
    fc.property(hostileText(ADDRESS), fc.constantFrom('', 'a.example', '*.'), (end, start) => {
      const found = bounded(() => parseDomain(start + end));
      if ('reason' in found) return found.reason in INVALID_REASONS;
      const again = parseDomain(`https://${found.domain}/`);
      return 'domain' in again && again.domain === found.domain;
    }),
    { ...RUNS, numRuns: RUNS.numRuns * 5 },
  );
  t.pass();
});

test('the chosen column is a column of the rows, or null, for any rows', (t) => {
  const cell = fc.oneof(hostileText(TABLE), fc.constantFrom('url', 'a.example', 'https://a.example/', '', 'name'));
  const rows = fc.array(fc.array(cell, { maxLength: 6 }), { maxLength: 10 });
  fc.assert(
    fc.property(rows, (table) => {
      const column = bounded(() =>
        findUrlColumn(
          table.map((cells, i) => ({ row: i + 1, cells })),
          300,
        ),
      );
      return column === null || (table.some(({ length }) => column.index < length) && column.first_data_row >= 1);
    }),
    RUNS,
  );
  t.pass();
});

for (const declared of ['"', '\u{1f600}', '\ud83d', '\udc00', ' ', '\r', '\0', 'h', '\u2028']) {
  test(`a first line that declares ${encodeURI(declared.toWellFormed())}${declared.isWellFormed() ? '' : declared.charCodeAt(0)} for a delimiter hides no URL`, async (t) => {
    const text = `sep=${declared}\r\n"https://a.example/"\r\nhttps://b.example/\r\n`;
    const found = await outcomeOf(text);
    t.true(found === 2 || (declared === '\0' && found === 'not_a_table'), String(found));
  });
}

test('any sample gives a layout with a usable delimiter, or none', async (t) => {
  await fc.assert(
    fc.asyncProperty(hostileText(TABLE), fc.constantFrom('', 'sep='), fc.boolean(), async (text, start, whole) => {
      const layout = await findLayout({
        text: start + text,
        whole,
        filename: 'x.csv',
        max_url_chars: 300,
        wanted: null,
      });
      if (layout === null || layout.delimiter === null) return;
      t.is([...layout.delimiter].length, 1);
      t.notRegex(layout.delimiter, /["\r\n\0\p{Cs}\p{L}\p{N}]/u);
    }),
    RUNS,
  );
  t.pass();
});
