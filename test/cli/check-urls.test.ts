// The loop of `check` over an engine that the test holds, and the run that it keeps outcomes in.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { NotStarted } from '../../checkers/index.ts';
import { checkUrls } from '../../cli/check/check-urls.ts';
import { RunError, RunStore } from '../../cli/check/run-store.ts';
import type { Outcome } from '../../events/checks.ts';

const OUTCOME: Outcome = {
  status_code: 404,
  final_url: 'http://a.example/',
  is_broken: true,
  is_soft_404: false,
  redirect_chain: ['http://a.example/'],
  response_time_ms: 12,
  content_type: null,
  error_code: null,
  verdict: 'broken',
  protection: null,
  attempts: 2,
};
const NEVER = new AbortController().signal;
const FACTS = {
  counts: { total_urls: 0, duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 },
  inputs: [],
  rejected: [],
  began_at: '2026-01-31T09:00:00.000Z',
};

async function runOf(t: ExecutionContext, count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'run-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'run.db');
  const store = RunStore.open(path)!;
  async function* urls() {
    yield Array.from({ length: count }, (_, n) => ({
      url: `http://a.example/${n}`,
      file: 'a.txt',
      row: n + 1,
      cell: null,
    }));
  }
  await store.list(urls(), () => FACTS);
  return { store, path };
}
const urlsIn = (store: RunStore) => [...store.results()].map(({ url }) => url);

test('a run that another process has open is not opened, and one whose process died is', async (t) => {
  const { store, path } = await runOf(t, 1);
  t.is(RunStore.open(path), null);
  store.close();
  const again = RunStore.open(path)!;
  t.deepEqual(again.facts, FACTS);
  again.close();
});

test('outcomes come back as they were kept, in the order of the input, and only once each', async (t) => {
  const { store } = await runOf(t, 3);
  const ok: Outcome = {
    ...OUTCOME,
    verdict: 'ok',
    status_code: 200,
    is_broken: false,
    redirect_chain: [],
    attempts: 1,
  };
  store.keep(2, OUTCOME);
  store.keep(0, ok);
  store.flush();
  t.deepEqual(
    [...store.results()],
    [
      { url: 'http://a.example/0', file: 'a.txt', row: 1, cell: null, ...ok },
      { url: 'http://a.example/2', file: 'a.txt', row: 3, cell: null, ...OUTCOME },
    ],
  );
  t.deepEqual([...store.results(['ok'])].length, 1);
  t.deepEqual(store.verdicts(), { ok: 1, broken: 1 });
  t.deepEqual(store.pending(-1, 10), [{ index: 1, url: 'http://a.example/1' }]);
  store.close();
});

test('a run asks for each URL once, with no more in flight than the engine takes', async (t) => {
  const { store } = await runOf(t, 2500);
  const asked: string[] = [];
  let in_flight = 0;
  const engine = {
    get free() {
      return 8 - in_flight;
    },
    async check(url: string) {
      asked.push(url);
      in_flight++;
      t.true(in_flight <= 8);
      await new Promise((resolve) => setImmediate(resolve));
      in_flight--;
      return OUTCOME;
    },
  };
  await checkUrls(store, engine, NEVER);
  t.is(asked.length, 2500);
  t.is(new Set(asked).size, 2500);
  t.deepEqual(urlsIn(store), asked);
  store.close();
});

test('an interrupted run keeps its outcomes, and another process asks only the rest', async (t) => {
  const { store, path } = await runOf(t, 10);
  const interrupted = new AbortController();
  const first: string[] = [];
  await checkUrls(
    store,
    {
      free: 1,
      check(url, { signal } = {}) {
        first.push(url);
        if (first.length < 4) return Promise.resolve(OUTCOME);
        interrupted.abort();
        return Promise.reject(signal!.reason);
      },
    },
    interrupted.signal,
  );
  t.is(store.completed, 3);
  store.close();

  const again = RunStore.open(path)!;
  const rest: string[] = [];
  const check = async (url: string) => {
    rest.push(url);
    return OUTCOME;
  };
  await checkUrls(again, { free: 5, check }, NEVER);
  t.deepEqual(rest, ['http://a.example/3', ...[4, 5, 6, 7, 8, 9].map((n) => `http://a.example/${n}`)]);
  t.is(again.completed, 10);
  again.close();
});

test('URLs that the machine had no room for are tried again', async (t) => {
  const { store } = await runOf(t, 3);
  let refused = 0;
  const engine = {
    free: 5,
    check: (url: string) =>
      url.endsWith('1') && refused++ < 2 ? Promise.reject(new NotStarted()) : Promise.resolve(OUTCOME),
  };
  const waits: number[] = [];
  await checkUrls(store, engine, NEVER, async (ms) => void waits.push(ms));
  t.is(store.completed, 3);
  t.is(refused, 3);
  t.true(waits.length > 0);
  store.close();
});

test('an error of the engine or of the disk ends the run with that error', async (t) => {
  const { store } = await runOf(t, 3);
  const broken = { free: 5, check: () => Promise.reject(new Error('of the engine')) };
  await t.throwsAsync(checkUrls(store, broken, NEVER), { message: 'of the engine' });
  const full = {
    pending: store.pending.bind(store),
    keep() {
      throw new Error('disk full');
    },
    flush() {},
    addElapsed() {},
  };
  await t.throwsAsync(checkUrls(full, { free: 5, check: async () => OUTCOME }, NEVER), { message: 'disk full' });
  t.is(store.completed, 0);
  store.close();
});

test('a run whose file cannot be written ends with an error that names the file', async (t) => {
  const { store, path } = await runOf(t, 1);
  store.keep(0, OUTCOME);
  store.close();
  t.throws(() => store.flush(), { instanceOf: RunError, message: new RegExp(`^${path}: `) });
});
