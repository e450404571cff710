// A table goes back to its owner with the results beside its columns: as CSV and as a workbook, with duplicates, rejected rows, titles,
// empty rows and cells of several URLs.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import Excel from 'exceljs';
import { leftOutKey, uploadKey } from '../../commands/jobs/job-blobs.ts';
import { ADDED_COLUMNS } from '../../http/results/export/original-lines.ts';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([startTestService(), openSite(page)]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

async function checked(client: TestClient, file: string | Buffer, filename: string, query = ''): Promise<string> {
  const { status, body } = await client.upload(file as string, query, filename);
  if (status !== 201) throw new Error(JSON.stringify(body));
  await client.ended(body.job_id);
  return body.job_id;
}

async function exported(client: TestClient, job_id: string, query = ''): Promise<string[][]> {
  const { status, body } = await client.ask('GET', `/jobs/${job_id}/export?original=true${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return parse(body, { bom: true, relax_column_count: true, delimiter: [',', ';', '\t'] });
}

test('a CSV comes back whole, with results, duplicates and rejected rows in place', async (t) => {
  const alice = await service.client('csv');
  const file = [
    'Report of May;;',
    'Name;Page;Note',
    `First;${site.url}/a;=1+1`,
    `Second;${site.url}/status/404;-5`,
    'Third;;nothing here',
    `Fourth;${site.url}/a#top;"two, and ""quoted"""`,
    'Fifth;see below;+49 30 123',
    `"Sixth ";"${site.url}/b, ${site.url}/status/500";`,
    'Seventh;mailto:x@example.com;x;too wide',
  ].join('\r\n');
  const job_id = await checked(alice, file, 'may.csv');
  const [title, header, ...rows] = await exported(alice, job_id);
  t.deepEqual(title, ['Report of May', ...Array(3 + ADDED_COLUMNS).fill('')]);
  t.deepEqual(header!.slice(0, 10), [
    ...['Name', 'Page', 'Note', '', 'row', 'checked_url', 'verdict', 'reason', 'duplicate_of_row', 'status_code'],
  ]);
  const at = (url: string) => `${site.url}${url}`;
  t.deepEqual(
    rows.map((row) => row.slice(0, 10)),
    [
      ['First', at('/a'), "'=1+1", '', '3', at('/a'), 'ok', '', '', '200'],
      ['Second', at('/status/404'), '-5', '', '4', at('/status/404'), 'broken', '', '', '404'],
      ['Third', '', 'nothing here', '', '5', '', '', '', '', ''],
      ['Fourth', at('/a#top'), 'two, and "quoted"', '', '6', at('/a'), 'ok', 'duplicate', '3', '200'],
      ['Fifth', 'see below', '+49 30 123', '', '7', '', 'rejected', 'several_words', '', ''],
      ['Sixth ', `${at('/b')}, ${at('/status/500')}`, '', '', '8', at('/b'), 'ok', '', '', '200'],
      ['Sixth ', `${at('/b')}, ${at('/status/500')}`, '', '', '8', at('/status/500'), 'broken', '', '', '500'],
      ['Seventh', 'mailto:x@example.com', 'x', 'too wide', '9', '', 'rejected', 'unsupported_scheme', '', ''],
    ],
  );
  const broken = await exported(alice, job_id, '&non_2xx=true');
  t.deepEqual(
    broken.map(([name, , , , row]) => [name, row]),
    [
      ['Report of May', ''],
      ['Name', 'row'],
      ['Second', '4'],
      ['Sixth ', '8'],
    ],
  );

  const { body: results } = await alice.ask('GET', `/jobs/${job_id}/results`);
  t.deepEqual(
    results.items.map(({ row, cell }: { row: number; cell: string }) => [row, cell]),
    [
      [3, 'B3'],
      [4, 'B4'],
      [8, 'B8'],
      [8, 'B8'],
    ],
  );
  const { body: rejected } = await alice.ask('GET', `/jobs/${job_id}/rejected`);
  t.deepEqual(
    rejected.items.map((item: Record<string, unknown>) => [item.cell, item.value, item.reason, item.duplicate_of_row]),
    [
      ['B6', at('/a#top'), 'duplicate', 3],
      ['B7', 'see below', 'several_words', null],
      ['B9', 'mailto:x@example.com', 'unsupported_scheme', null],
    ],
  );
  t.is(rejected.total, 3);
  const { body: one } = await alice.ask('GET', `/jobs/${job_id}/rejected?reason=several_words&limit=1`);
  t.like(one, {
    total: 1,
    limit: 1,
    offset: 0,
    items: { 0: { row: 7, message: 'is text without a URL' } },
  });
  t.is((await alice.ask('GET', `/jobs/${job_id}/rejected?offset=3`)).body.items.length, 0);

  const link = await alice.ask('GET', `/jobs/${job_id}/download?original=true`);
  const linked = parse(await (await fetch(link.body.url)).text(), { bom: true, delimiter: ';' });
  t.is(linked.length, 10);
});

test('a workbook comes back as a workbook, with its numbers and dates', async (t) => {
  const alice = await service.client('xlsx');
  const workbook = new Excel.Workbook();
  const sheet = workbook.addWorksheet('Data');
  sheet.addRow(['When', 'Page', 'Visits']);
  sheet.addRow([new Date(Date.UTC(2026, 4, 1)), { text: 'home', hyperlink: `${site.url}/a` }, 12]);
  sheet.addRow([]);
  sheet.addRow(['soon', `${site.url}/status/404`, '=1+1']);
  const file = Buffer.from(await workbook.xlsx.writeBuffer());
  const job_id = await checked(alice, file, 'pages.xlsx');
  const response = await fetch(`${service.url}/jobs/${job_id}/export?original=true&format=xlsx`, {
    headers: { authorization: `Bearer ${alice.token}` },
  });
  t.regex(response.headers.get('content-disposition')!, /filename="pages-with-results\.xlsx"/);
  const exported = new Excel.Workbook();
  await exported.xlsx.load((await response.arrayBuffer()) as never);
  const rows = exported.worksheets[0]!;
  const cells = (row: number) => Array.from({ length: 6 }, (_, n) => rows.getRow(row).getCell(n + 1).value);
  t.deepEqual(cells(1), ['When', 'Page', 'Visits', 'row', 'checked_url', 'verdict']);
  t.deepEqual(cells(2), [new Date('2026-05-01T00:00:00Z'), 'home', 12, 2, `${site.url}/a`, 'ok']);
  t.deepEqual(cells(3), [null, null, null, 3, null, null]);
  t.deepEqual(cells(4), ['soon', `${site.url}/status/404`, '=1+1', 4, `${site.url}/status/404`, 'broken']);
});

test('a list without columns cannot be exported as a table, and has the places of its texts', async (t) => {
  const alice = await service.client('lists');
  const text = JSON.stringify([`${site.url}/a`, 'nope', `${site.url}/b`]);
  const job_id = await checked(alice, text, 'list.md.json');
  const refused = await alice.ask('GET', `/jobs/${job_id}/export?original=true`);
  t.like(refused, { status: 409, body: { code: 'no_table' } });
  t.is((await alice.ask('GET', `/jobs/${job_id}/export?original=false`)).status, 200);
  const { body: results } = await alice.ask('GET', `/jobs/${job_id}/results`);
  t.deepEqual(
    results.items.map(({ row, cell }: { row: number; cell: null }) => [row, cell]),
    [
      [1, null],
      [3, null],
    ],
  );
  const { body: rejected } = await alice.ask('GET', `/jobs/${job_id}/rejected`);
  t.like(rejected, { total: 1, items: { 0: { row: 2, cell: null, value: 'nope', reason: 'no_domain' } } });
});

test('a job whose files are lost says so, and not that it never had any', async (t) => {
  const alice = await service.client('lost');
  const job_id = await checked(alice, `url\n${site.url}/a\n${site.url}/a\nno url\n`, 'urls.csv');
  const ask = async (path: string) => (await alice.ask('GET', `/jobs/${job_id}/${path}`)).body;
  t.is((await ask('rejected?reason=duplicate')).total, 1);
  for (const key of [uploadKey(job_id), leftOutKey(job_id)]) await rm(join(service.data_dir, 'blobs', key));
  t.is((await ask('export?original=true')).code, 'upload_missing');
  t.is((await ask('rejected')).code, 'record_missing');
  t.is((await ask('rejected?reason=duplicate')).code, 'record_missing');
});
