// `npm run ops -- ledger statement --by month`: each month with its opening and its closing balance, as text, JSON, CSV and PDF.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { PDFDocument } from '@cantoo/pdf-lib';
import test, { type ExecutionContext } from 'ava';
import { openFiller } from '../support/audited-ledger.ts';
import { folder } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { openFolderLog } from '../support/stores.ts';

/** Entries in January and in April; one that a clock which was set back dates into January again. */
async function months(t: ExecutionContext, user_id = 'alice', entries = 1): Promise<string> {
  const DATA_DIR = await folder(t);
  const log = await openFolderLog(DATA_DIR);
  for (let n = 0; n < entries; n += 1) await openFiller(log).buy(user_id, `pi-one-${n}`, 100);
  await openFiller(log, Date.parse('2026-04-30T23:59:59.999Z')).buy(user_id, 'pi-two', 30);
  await openFiller(log, Date.parse('2026-01-31T10:00:00Z')).buy(user_id, 'pi-three', 7);
  await log.close();
  return DATA_DIR;
}

const statement = (DATA_DIR: string, ...words: string[]) =>
  opsHere(['ledger', 'statement', '--user', 'alice', ...words], { DATA_DIR });

interface Month {
  month: string;
  opening_balance: number;
  closing_balance: number;
  entries: { amount: number }[];
}

test('each month begins with the balance that the month before it ended with, also where nothing happened', async (t) => {
  const DATA_DIR = await months(t);
  const { code, stdout, stderr } = await statement(DATA_DIR, '--by', 'month', '--json');
  t.is(code, 0, stderr);
  const printed = JSON.parse(stdout) as { months: Month[]; violations: string[] };
  t.deepEqual(
    printed.months.map(({ month, opening_balance, entries, closing_balance }) => [
      ...[month, opening_balance, entries.map(({ amount }) => amount), closing_balance],
    ]),
    [
      ['2026-01', 0, [100], 100],
      ['2026-02', 100, [], 100],
      ['2026-03', 100, [], 100],
      ['2026-04', 100, [30, 7], 137],
    ],
  );
  t.deepEqual(printed.violations, []);
});

test('one month is a statement of its own', async (t) => {
  const DATA_DIR = await months(t);
  const csv = await statement(DATA_DIR, '--month', '2026-04', '--format', 'csv');
  t.is(csv.code, 0, csv.stderr);
  const rows = csv.stdout.trimEnd().split('\n');
  t.deepEqual(rows.slice(0, 2), [
    'month,time,transaction,transaction_id,reference,amount,balance,position',
    '2026-04,,opening balance,,,,100,',
  ]);
  t.regex(rows[2]!, /^2026-04,2026-04-30T23:59:59.999Z,purchase,purchase:pi-two,pi-two,30,130,\d+$/);
  t.deepEqual([rows.length, rows.at(-1)], [5, '2026-04,,closing balance,,,,137,']);
  const empty = await statement(DATA_DIR, '--month', '2026-03');
  t.regex(empty.stdout, /\n2026-03 +before +100 +\n +after +100 +\n0 entries\n$/);
  const before = JSON.parse((await statement(DATA_DIR, '--month', '2025-12', '--json')).stdout) as { months: Month[] };
  t.deepEqual(before.months, [{ month: '2025-12', opening_balance: 0, entries: [], closing_balance: 0 }]);
  for (const words of [
    ['--month', '2026-13'],
    ['--month', '2026-04', '--from', '2026-04-02'],
    ['--by', 'week'],
  ])
    t.is((await statement(DATA_DIR, ...words)).code, 2, words.join(' '));
});

test('a PDF has every entry and balance on its pages, and only its owner may read it', async (t) => {
  const DATA_DIR = await months(t, 'alice', 60);
  const file = join(DATA_DIR, 'statement.pdf');
  const { code, stderr } = await statement(DATA_DIR, '--by', 'month', '--format', 'pdf', '--out', file);
  t.is(code, 0, stderr);
  t.is((await stat(file)).mode & 0o777, 0o600);
  const bytes = await readFile(file);
  t.is((await PDFDocument.load(bytes)).getPageCount(), 2);
  const text = textOf(bytes);
  for (const each of ['Statement of alice, in credits', '2026-03', 'closing balance', 'pi-one-59', 'pi-two', '6,037'])
    t.true(text.includes(each), each);
  t.is(text.filter((each) => each === 'purchase').length, 62);
  t.regex((await statement(DATA_DIR, '--format', 'pdf')).stderr, /needs --out FILE/);
});

/** The texts that the pages of a PDF show. */
function textOf(pdf: Buffer): string[] {
  const latin = pdf.toString('latin1');
  return [...latin.matchAll(/stream\r?\n([\s\S]*?)\r?\nendstream/g)].flatMap(([, packed]) => {
    const content = inflateSync(Buffer.from(packed!, 'latin1')).toString('latin1');
    return [...content.matchAll(/<([0-9A-F]+)> Tj/g)].map(([, hex]) => Buffer.from(hex!, 'hex').toString('latin1'));
  });
}
