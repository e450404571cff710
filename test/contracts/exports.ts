// An export that runs while its read model is rebuilt: the file is whole, or the connection is cut.
// The suite asks the route over a store's own documents. A store's test enrols with one line.
import { randomBytes } from 'node:crypto';
import type { TestFn } from 'ava';
import { parse } from 'csv-parse/sync';
import Excel from 'exceljs';
import { openSignedLinks } from '../../http/frame/signed-links.ts';
import { type Deps, exportFile } from '../../http/results/exports.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { inGeneration, projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { type ResultDocument, resultId, results } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { ALICES_JOB, jobsBy, startSample } from '../http/sample-app.ts';
import { type Fixture, sentences } from './documents/fixture.ts';

const ROWS = 5000;
const ROWS_A_WRITE = 500;
const FLIP_NOTICED_MS = 2000;
const COLLECTIONS = [jobs, results, jobStats];

type Reader = ReadableStreamDefaultReader<Uint8Array>;
interface World {
  /** The export after its first piece. */
  reader: Reader;
  first: Uint8Array;
  /** Makes another generation live. */
  flip(): Promise<void>;
  /** Drops the generation from before. */
  drop(): Promise<void>;
  wasCutOff(): boolean;
}

export function exportContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);

  for (const format of ['csv', 'xlsx'] as const) {
    sentence(`a ${format} export that runs during a flip is complete`, async (t, { documents }) => {
      await exporting(documents, format, async ({ reader, first, flip }) => {
        await flip();
        const file = Buffer.concat([first, ...(await rest(reader))]);
        t.is(await rowsOf(file, format), ROWS);
      });
    });
    sentence(`a ${format} export ends with an error when its generation is dropped`, async (t, { documents }) => {
      await exporting(documents, format, async ({ reader, flip, drop, wasCutOff }) => {
        await flip();
        await drop();
        await t.throwsAsync(rest(reader));
        t.true(wasCutOff());
      });
    });
  }
}

async function exporting(documents: Documents, format: 'csv' | 'xlsx', body: (world: World) => Promise<void>) {
  const clock = { now: 0 };
  for (const spec of COLLECTIONS) await documents.collection(inGeneration<never>(spec as never, 1));
  const old = await documents.collection(inGeneration(results, 1));
  for (let from = 0; from < ROWS; from += ROWS_A_WRITE) {
    await old.write(Array.from({ length: ROWS_A_WRITE }, (_, n) => ({ insert: result(from + n) })));
  }
  const live = async (generation: number, kept: number[] = []) => {
    for (const spec of COLLECTIONS) await documents.collection(inGeneration<never>(spec as never, generation));
    const job = { _id: ALICES_JOB, completed_urls: ROWS, filename: 'urls.csv' } as JobDocument;
    await (await documents.collection(inGeneration(jobs, generation))).write([{ replace: job }]);
    const names = COLLECTIONS.map(({ name }) => name);
    const retired = kept.map((one) => ({ generation: one, collections: names }));
    const state = { ...projectionState('jobs', null), version: generation, generation, collections: names, retired };
    await (await documents.collection(projectionStates)).write([{ replace: state }]);
  };
  await live(1);
  const read = openReadModels(documents, { monotonic: () => clock.now });
  const services = {
    links: openSignedLinks({ secret: Buffer.from('key'), base_url: () => 'http://x', now: () => clock.now }),
    read: { jobs: read.collection(jobs), results: read.collection(results), jobStats: read.collection(jobStats) },
  } as unknown as Deps;
  const found = { owner_id: 'alice', completed_urls: ROWS, filename: 'urls.csv' };
  const sample = await startSample([exportFile], services, {
    jobs: jobsBy((id) => (id === ALICES_JOB ? found : null)),
  });
  try {
    const path = `/jobs/${ALICES_JOB}/export?format=${format}`;
    const response = await sample.request(path, { as: sample.tokens.alice });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    const reader: Reader = response.body!.getReader();
    await body({
      reader,
      first: (await reader.read()).value!,
      async flip() {
        await live(2, [1]);
        clock.now += FLIP_NOTICED_MS;
        // The new generation has no results, so that this export reads none.
        if ((await read.collection(results).count({ job_id: ALICES_JOB })) !== 0)
          throw new Error('the old one is read');
      },
      async drop() {
        await live(2);
        for (const spec of COLLECTIONS) await documents.drop(inGeneration<never>(spec as never, 1).name);
      },
      wasCutOff: () => sample.logged.some(({ msg }) => msg === 'http cuts a response off'),
    });
  } finally {
    await sample.close();
  }
}

async function rest(reader: Reader): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces;
    pieces.push(value);
  }
}

async function rowsOf(file: Buffer, format: 'csv' | 'xlsx'): Promise<number> {
  if (format === 'csv') return parse(file, { bom: true, columns: true }).length;
  const workbook = new Excel.Workbook();
  await workbook.xlsx.load(file as never);
  return workbook.worksheets[0]!.rowCount - 1;
}

/** A text so long and so hard to compress that no buffer between store and client holds all rows. */
function result(index: number): ResultDocument {
  const url = `https://example.com/${randomBytes(3000).toString('base64url')}`;
  return {
    ...{ _id: resultId(ALICES_JOB, index), job_id: ALICES_JOB, index, url, final_url: url, status_code: 200 },
    ...{ is_broken: false, is_soft_404: false, redirect_chain: [], response_time_ms: 12, content_type: 'text/html' },
    ...{ error_code: null, verdict: 'ok', protection: null, attempts: 1 },
  };
}
