// Exports and download links from outside: a job is checked, then its file is read as a spreadsheet would read it.
import test from 'ava';
import { parse } from 'csv-parse/sync';
import Excel from 'exceljs';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([
    startTestService(),
    // `/formula` names its type in a way that a spreadsheet would calculate.
    openSite((request, response) => {
      if (request.url !== '/formula') return page(request, response);
      response.writeHead(200, { 'content-type': '=HYPERLINK("http://evil.example";"text/html")' }).end();
    }),
  ]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

/** A job of these paths, checked whole. */
async function checked(client: TestClient, paths: readonly string[], filename?: string): Promise<string> {
  const file = `link\n${paths.map((path) => `${site.url}${path}`).join('\n')}\n`;
  const { body } = await client.upload(file, '', filename);
  await client.ended(body.job_id);
  return body.job_id;
}

const rowsOf = (csv: string): Record<string, string>[] => parse(csv, { bom: true, columns: true });
const pathsOf = (csv: string) => rowsOf(csv).map(({ url }) => url!.slice(site.url.length));

test('an export gives a job as CSV, whole or filtered', async (t) => {
  const alice = await service.client('csv');
  const job_id = await checked(alice, ['/a', '/B,"c"', '/status/404', '/status/500', '/status/503']);
  const whole = await alice.ask('GET', `/jobs/${job_id}/export`);
  t.is(whole.status, 200);
  t.is(whole.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.is(
    whole.headers.get('content-disposition'),
    `attachment; filename="urls-results.csv"; filename*=UTF-8''urls-results.csv`,
  );
  t.deepEqual(
    rowsOf(whole.body).map((row) => [row.status_code, row.verdict, row.is_broken]),
    [
      ['200', 'ok', 'false'],
      ['200', 'ok', 'false'],
      ['404', 'broken', 'true'],
      ['500', 'broken', 'true'],
      ['503', 'broken', 'true'],
    ],
  );
  const filtered = async (query: string) => pathsOf((await alice.ask('GET', `/jobs/${job_id}/export?${query}`)).body);
  t.deepEqual(await filtered('status_codes=404,503'), ['/status/404', '/status/503']);
  t.deepEqual(await filtered('non_2xx=true'), ['/status/404', '/status/500', '/status/503']);
  t.deepEqual(await filtered('non_2xx=true&url_contains=%2F50'), ['/status/500', '/status/503']);
  t.deepEqual(await filtered('url_contains=nowhere'), []);
});

test('an export gives a job as a workbook with the same rows', async (t) => {
  const alice = await service.client('xlsx');
  const job_id = await checked(alice, ['/a', '/status/404'], 'Übersicht.xlsx.csv');
  const response = await fetch(`${service.url}/jobs/${job_id}/export?format=xlsx&non_2xx=true`, {
    headers: { authorization: `Bearer ${alice.token}` },
  });
  t.is(response.headers.get('content-type'), 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
  t.regex(response.headers.get('content-disposition')!, /filename\*=UTF-8''%C3%9Cbersicht\.xlsx-results\.xlsx$/);
  const workbook = new Excel.Workbook();
  await workbook.xlsx.load((await response.arrayBuffer()) as never);
  const sheet = workbook.worksheets[0]!;
  t.is(sheet.rowCount, 2);
  t.deepEqual(
    [1, 2, 3, 4].map((column) => sheet.getRow(2).getCell(column).value),
    [`${site.url}/status/404`, 404, 'broken', true],
  );
});

test("an export defuses formulas in a website's headers", async (t) => {
  const alice = await service.client('formula');
  const job_id = await checked(alice, ['/formula']);
  const { body } = await alice.ask('GET', `/jobs/${job_id}/export`);
  t.is(rowsOf(body)[0]!.content_type, `'=HYPERLINK("http://evil.example";"text/html")`);
});

test('an export makes a harmful file name safe', async (t) => {
  const alice = await service.client('names');
  const job_id = await checked(alice, ['/a'], '../../e"v;il\r\nX-Evil: 1.csv');
  const { headers } = await alice.ask('GET', `/jobs/${job_id}/export`);
  t.is(headers.get('x-evil'), null);
  t.regex(
    headers.get('content-disposition')!,
    /^attachment; filename="e[^"\\/\r\n]*-results\.csv"; filename\*=UTF-8''[\w%.-]+$/,
  );
});

test('a download link gives the filtered file to its holder', async (t) => {
  const alice = await service.client('linker');
  const job_id = await checked(alice, ['/a', '/b', '/status/404']);
  const { status, body } = await alice.ask('GET', `/jobs/${job_id}/download?non_2xx=false&url_contains=status`);
  t.is(status, 200);
  t.like(body, { filename: 'urls-results.csv', row_count: 1 });
  const left_ms = Date.parse(body.expires_at) - Date.now();
  t.true(left_ms > 3_500_000 && left_ms <= 3_600_000);
  t.true(body.url.startsWith(`${service.url}/downloads/`), body.url);
  const file = await fetch(body.url);
  t.is(file.status, 200);
  t.deepEqual(pathsOf(await file.text()), ['/status/404']);
  const head = await fetch(body.url, { method: 'HEAD' });
  t.deepEqual([head.status, await head.text()], [200, '']);
  const widened = await fetch(body.url.replace('url_contains=status', 'url_contains=a'));
  t.is(widened.status, 403);
  t.is(((await widened.json()) as { code: string }).code, 'link_invalid');
});

test('the service refuses wrong requests for exports', async (t) => {
  const [alice, bob] = await Promise.all([service.client('wrong'), service.client('not-wrong')]);
  const job_id = await checked(alice, ['/a']);
  const wrong = [
    'export?format=pdf',
    'export?format=CSV',
    'export?status_codes=abc',
    'export?status_codes=404,',
    'export?non_2xx=maybe',
    `export?url_contains=${'x'.repeat(501)}`,
    'export?limit=5',
    'download?format=xlsx',
    'download?status_codes=4040',
    'download?non_2xx=2',
  ];
  for (const query of wrong) {
    const { status, body } = await alice.ask('GET', `/jobs/${job_id}/${query}`);
    t.is(status, 422, query);
    t.is(body.detail[0].loc[0], 'query');
  }
  for (const what of ['export', 'download']) {
    t.is((await bob.ask('GET', `/jobs/${job_id}/${what}`)).status, 404);
    t.is((await fetch(`${service.url}/jobs/${job_id}/${what}`)).status, 401);
    t.is((await alice.ask('GET', `/jobs/none/${what}`)).status, 404);
  }
  t.is((await fetch(`${service.url}/downloads/${job_id}?expires=9999999999&signature=abc`)).status, 403);
});
