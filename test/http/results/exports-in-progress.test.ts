// Exports while something happens to them: the job is deleted, the client leaves, a link expires.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import Excel from 'exceljs';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSignedLinks } from '../../../http/frame/signed-links.ts';
import { csvOf } from '../../../http/results/export/csv.ts';
import { xlsxOf } from '../../../http/results/export/xlsx.ts';
import { type Deps, download, exportFile, signedDownload } from '../../../http/results/exports.ts';
import { results } from '../../../readmodels/results/results.ts';
import { result } from '../../support/result-document.ts';
import { ALICES_JOB, jobsBy, type Sample, startSample, until } from '../sample-app.ts';

const ROWS = 5000;
/** So long, and so hard to compress, that no buffer between the store and the client holds them all. */
const longUrl = (index: number) => `https://example.com/${randomBytes(3000).toString('base64url')}/item${index}`;

interface World {
  sample: Sample;
  clock: { now: number };
  pages_read(): number;
  deleteResults(): Promise<void>;
  deleteJob(): void;
  close(): Promise<void>;
}

async function openWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'export-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  const collection = await documents.collection(results);
  for (let first = 0; first < ROWS; first += 500) {
    const rows = Array.from({ length: 500 }, (_, n) => result(first + n, { url: longUrl(first + n) }));
    await collection.write(rows.map((insert) => ({ insert })));
  }
  const clock = { now: Date.now() };
  let read = 0;
  let job: object | null = { _id: ALICES_JOB, completed_urls: ROWS, filename: 'urls.csv' };
  const services = {
    opensJob: async () => true,
    links: openSignedLinks({ secret: Buffer.from('key'), base_url: () => 'http://x', now: () => clock.now }),
    read: {
      jobs: { get: async (id: string) => (id === ALICES_JOB ? job : null) },
      results: {
        count: collection.count.bind(collection),
        async *stream(...asked: Parameters<typeof collection.stream>) {
          for await (const one of collection.stream(...asked)) {
            read++;
            yield one;
          }
        },
      },
    },
  } as unknown as Deps;
  const owned = (id: string) => id === ALICES_JOB && job && { ...job, owner_id: 'alice' };
  const sample = await startSample([exportFile, download, signedDownload], services, {
    jobs: jobsBy((id) => owned(id) || null),
  });
  return {
    sample,
    clock,
    pages_read: () => Math.ceil(read / 1000),
    deleteResults: () => collection.write([{ deleteMany: { job_id: ALICES_JOB } }]),
    deleteJob: () => void (job = null),
    async close() {
      await sample.close();
      await documents.close();
      await rm(folder, { recursive: true });
    },
  };
}

for (const format of ['csv', 'xlsx'] as const) {
  test(`the service cuts a ${format} file off when somebody deletes its job meanwhile`, async (t) => {
    const world = await openWorld();
    const response = await world.sample.request(`/jobs/${ALICES_JOB}/export?format=${format}`, {
      as: world.sample.tokens.alice,
    });
    t.is(response.status, 200);
    const reader = response.body!.getReader();
    await reader.read();
    // Nobody reads on: at some point the store is not asked for more either.
    await world.deleteResults();
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    await t.throwsAsync(rest);
    t.true(world.sample.logged.some(({ msg }) => msg === 'http cuts a response off'));
    await world.close();
  });
}

test('a row of many long cells is written in pieces', async (t) => {
  const cell = 'x'.repeat(32_767);
  const table = {
    widths: new Map(),
    delimiter: ',',
    async *pages() {
      yield [Array<string>(100).fill(cell)];
    },
  };
  const sizes: number[] = [];
  for await (const piece of csvOf({ ...table, pages: table.pages() })) sizes.push(piece.length);
  t.true(Math.max(...sizes) < 100_000, `${Math.max(...sizes)} characters`);
  t.is(
    sizes.reduce((a, b) => a + b),
    '\ufeff'.length + 100 * cell.length + 99 + '\r\n'.length,
  );
  const workbook = new Excel.Workbook();
  await workbook.xlsx.load((await buffer(xlsxOf({ ...table, pages: table.pages() }))) as never);
  const row = workbook.worksheets[0]!.getRow(1);
  t.deepEqual([row.cellCount, row.getCell(100).value], [100, cell]);
});

test('an export stops reading results when its client leaves', async (t) => {
  const world = await openWorld();
  const leaving = new AbortController();
  const response = await world.sample.request(`/jobs/${ALICES_JOB}/export`, {
    as: world.sample.tokens.alice,
    signal: leaving.signal,
  });
  await response.body!.getReader().read();
  leaving.abort();
  await until(() => world.sample.logged.some(({ status }) => status === 499));
  t.true(world.pages_read() < ROWS / 1000, `${world.pages_read()} pages were read`);
  await world.close();
});

test('a link works without credentials until it expires or its job is deleted', async (t) => {
  const world = await openWorld();
  const path = `/jobs/${ALICES_JOB}/download?url_contains=/ITEM49`;
  const { body } = await answer(world.sample.request(path, { as: world.sample.tokens.alice }));
  const link = JSON.parse(body);
  t.like(link, { filename: 'urls-results.csv', row_count: 111 });
  const { pathname, search } = new URL(link.url);
  const get = (query = search) => answer(world.sample.request(`${pathname}${query}`));
  const file = await get();
  t.is(file.status, 200);
  t.is(parse(file.body, { columns: true }).length, 111);
  const forged = await get(search.replace('ITEM49', 'item4'));
  t.deepEqual([forged.status, JSON.parse(forged.body).code], [403, 'link_invalid']);
  t.is((await get('?expires=1')).status, 422);
  world.deleteJob();
  const gone = await get();
  t.deepEqual([gone.status, JSON.parse(gone.body).code], [404, 'job_not_found']);
  world.clock.now = Date.parse(link.expires_at);
  const expired = await get();
  t.deepEqual([expired.status, JSON.parse(expired.body).code], [410, 'link_expired']);
  await world.close();
});

async function answer(asked: Promise<Response>): Promise<{ status: number; body: string }> {
  const response = await asked;
  return { status: response.status, body: await response.text() };
}
