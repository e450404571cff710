// The list of jobs: every page is one seek in an index, and jobs that come and go meanwhile repeat and hide none.
import test from 'ava';
import { checkQuery } from '../../adapters/documents/query.ts';
import { checkSpec } from '../../adapters/documents/spec.ts';
import { indexForPage, isSeek } from '../../adapters/documents/sqlite/index-choice.ts';
import { openListCursors } from '../../http/frame/cursors.ts';
import { type Deps, list } from '../../http/jobs/v2-jobs.ts';
import type { Filter, FindOptions } from '../../readmodels/documents.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { openTestStores } from '../support/stores.ts';

const listCursors = openListCursors(Buffer.from('key'));
const { signal } = new AbortController();

interface Answer {
  items: { job_id: string }[];
  next_cursor: string | null;
}

async function page(read: object, query: object): Promise<Answer> {
  const request = { caller: { user_id: 'alice' }, query: { limit: 5, cursor: '', ...query }, signal };
  return (await list.handler(request as never, { read: { jobs: read }, listCursors } as unknown as Deps))
    .body as Answer;
}

test('a page of any status is one seek, so that it costs the same for a thousand jobs and for a million', async (t) => {
  const spec = checkSpec(jobs);
  const cursor_of = (status?: string) =>
    listCursors.after(['2026-01-31T09:00:00.000Z', 'job'], { user_id: 'alice', status: status ?? null });
  for (const status of [undefined, 'paused']) {
    for (const cursor of ['', cursor_of(status)]) {
      const asked: boolean[] = [];
      const find = async (filter: Filter, options: FindOptions) => {
        const query = checkQuery(spec, filter, options);
        asked.push(isSeek(indexForPage(spec, query), query.where));
        return [];
      };
      await page({ find }, { cursor, ...(status && { status }) });
      t.deepEqual(asked, [true], `status ${status}, cursor ${cursor}`);
    }
  }
});

test('jobs of one moment that are created and deleted between pages repeat and hide no other', async (t) => {
  const { documents } = await openTestStores(t);
  const collection = await documents.collection(jobs);
  const job = (_id: string, n: number, status = 'completed') => ({
    replace: {
      ...{ _id, owner_id: 'alice', owner_email: null, status, due: null, position: '0' },
      created_at: `2026-01-31T09:00:0${n % 3}.000Z`,
    } as JobDocument,
  });
  const kept = Array.from({ length: 40 }, (_, n) => `kept-${n}`);
  const passing = Array.from({ length: 40 }, (_, n) => `passing-${n}`);
  for (const status of [undefined, 'completed']) {
    await collection.write([...kept, ...passing].map((id, n) => job(id, n)));
    await collection.write([job('other', 1, 'paused')]);
    const seen: string[] = [];
    let cursor: string | null = '';
    for (let n = 0; cursor !== null; n++) {
      const { items, next_cursor }: Answer = await page(collection, { cursor, ...(status && { status }) });
      seen.push(...items.map(({ job_id }) => job_id));
      cursor = next_cursor;
      const last = items.at(-1)?.job_id;
      // The job that the cursor names goes too.
      const gone = [passing[n]!, passing[39 - n]!, ...(last?.startsWith('passing') ? [last] : [])];
      await collection.write([...gone.map((id) => ({ delete: id })), job(`new-${status}-${n}`, n)]);
    }
    t.is(new Set(seen).size, seen.length);
    t.deepEqual(
      kept.filter((id) => !seen.includes(id)),
      [],
    );
    t.is(seen.includes('other'), status === undefined);
  }
});
