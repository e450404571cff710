// The memory for small files that unpack to large ones, measured in a process of its own with a small heap.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { SharedStrings } from '../../intake/xlsx/shared-strings.ts';
import { inlineRow, upload, workbook } from './uploads.ts';

const MB = 1e6;
const A = 'https://a.example/1';
const PROGRAM = fileURLToPath(new URL('open-sheet-program.ts', import.meta.url));

async function opened(path: string): Promise<{ result: unknown; grown_bytes: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=96', PROGRAM, path]);
  return JSON.parse(stdout);
}

/** Repeats a piece with small differences, so that the archive is no bomb by its ratio alone. */
const spread = (piece: string, times: number) =>
  Array.from({ length: times / 200 }, (_, i) => `<!--${(i * 200 * 2654435761) % 2 ** 32}-->${piece.repeat(200)}`).join(
    '',
  );

const parts = (name: string, content: string) => workbook({ sheets: [''], parts: { [name]: content } });
const relationships = (items: string) => `<Relationships>${items}</Relationships>`;

const BOMBS: Readonly<Record<string, () => Promise<Buffer>>> = {
  'shared strings without a text': () =>
    workbook({
      sheets: [inlineRow(A)],
      shared_strings: [],
      parts: { 'xl/sharedStrings.xml': `<sst>${spread('<si/>', 3_000_000)}</sst>` },
    }),
  'rows without cells': () => workbook({ sheets: [inlineRow(A) + spread('<row/>', 1_500_000)] }),
  'a row of cells without end': () => workbook({ sheets: [`${inlineRow(A)}<row>${spread('<c/>', 1_500_000)}</row>`] }),
  'one cell again and again, with the longest text that is kept': () =>
    workbook({
      sheets: [inlineRow(A) + spread('<row><c t="s"><v>0</v></c></row>', 300_000)],
      shared_strings: [`<t>https://a.example/${'x'.repeat(2_000)}</t>`],
    }),
  'elements with attributes without end': () =>
    workbook({ sheets: [`${inlineRow(A)}<row ${Array.from({ length: 60_000 }, (_, i) => `a${i}=""`).join(' ')}/>`] }),
  'inline texts in pieces without end': () =>
    workbook({
      sheets: [`${inlineRow(A)}<row><c t="inlineStr"><is>${spread('<r><t>xxxxxxxx</t></r>', 500_000)}</is></c></row>`],
    }),
  'sheets without end': () =>
    parts('xl/workbook.xml', `<workbook><sheets>${spread('<sheet name="a" id="rId1"/>', 500_000)}</sheets></workbook>`),
  'hyperlinks without end': () =>
    parts(
      'xl/worksheets/_rels/sheet1.xml.rels',
      relationships(
        spread('<Relationship Id="a" Type="x/hyperlink" Target="https://a.example/" TargetMode="External"/>', 400_000),
      ),
    ),
  'hyperlinks of any length': () =>
    parts(
      'xl/worksheets/_rels/sheet1.xml.rels',
      relationships(spread(`<Relationship Id="a" Type="x/hyperlink" Target="${'x'.repeat(60_000)}"/>`, 4_000)),
    ),
  'comments without end': () => workbook({ sheets: [`${inlineRow(A)}${'<!--x-->'.repeat(1_000_000)}`] }),
  'entities that name each other': () =>
    parts('xl/workbook.xml', '<!DOCTYPE a [<!ENTITY a "&b;&b;&b;"><!ENTITY b "&c;&c;&c;">]><workbook>&a;</workbook>'),
};
const LIMITS = /^([12]|broken_xlsx|zip_bomb|inflated_too_large|no_urls)$/;

for (const [what, make] of Object.entries(BOMBS)) {
  test.serial(`${what} get an answer and take little memory`, async (t) => {
    const { result, grown_bytes } = await opened(await upload(t, 'x.xlsx', await make()));
    t.regex(String(result), LIMITS);
    t.true(grown_bytes < 250 * MB, `${Math.round(grown_bytes / MB)} MB for ${result}`);
    t.log(`${Math.round(grown_bytes / MB)} MB, ${result}`);
  });
}

test.serial('shared strings have a limit of ten million texts, even empty ones', (t) => {
  const before = process.memoryUsage().arrayBuffers;
  const strings = new SharedStrings();
  const error = t.throws(() => {
    for (;;) strings.add('');
  });
  t.like(error, { code: 'inflated_too_large' });
  t.true(process.memoryUsage().arrayBuffers - before < 90 * MB);
  t.is(strings.get(9_999_999), '');
  t.is(strings.get(10_000_000), '');
});
