// `check --cache`: what an earlier check found fine is not requested again, and no result of the cache fails a check.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';

import { LONGEST_AGE_MS, readCommand, UsageError } from '../../cli/check/command.ts';
import { cacheFile, ResultCache } from '../../cli/check/result-cache.ts';
import { type RunFacts, RunStore, unpackOutcome } from '../../cli/check/run-store.ts';
import { checkWorld } from '../support/check-command.ts';
import { html, page } from '../support/test-site.ts';

const PATHS = ['/fine', '/count/3', '/404', '/challenge', '/soft/a', '/500'];

async function worldOf(t: ExecutionContext) {
  const gone = { yes: false };
  const world = await checkWorld(t, {
    behaviours: {
      '/moody': (_request, socket) => page(socket, html('A page', 'Words'), {}, gone.yes ? 404 : 200),
    },
  });
  const { site, folder } = world;
  const env = { DATA_DIR: folder };
  const file = await world.write('list.txt', PATHS.map((path) => `${site.origin}${path}\n`).join(''));
  /** The paths of the list that the check requested. */
  const asked = async (args: readonly string[], options: { env?: Record<string, string> } = {}) => {
    const from = site.requests.length;
    const ran = await world.run([...args, '--retries', '0'], { env: { ...env, ...options.env } });
    const paths = new Set(site.requests.slice(from));
    return { ...ran, paths: PATHS.filter((path) => paths.has(path)) };
  };
  return { ...world, gone, file, env, asked };
}

test('what was fine is not requested again; what fails the check or may pass always is', async (t) => {
  const { asked, file } = await worldOf(t);
  const first = await asked([file, '--cache', '--json']);
  t.deepEqual(first.paths, PATHS);
  t.is(first.code, 1);

  const again = await asked([file, '--cache', '--json']);
  t.is(again.code, 1);
  t.deepEqual(again.paths, ['/404', '/challenge', '/soft/a', '/500']);
  const report = JSON.parse(again.stdout);
  t.like(report, { completed_urls: 6, cached_urls: 2, began_at: report.began_at });
  const { began_at, verdicts } = JSON.parse(first.stdout);
  t.deepEqual(report.verdicts, verdicts);
  t.deepEqual(
    report.results.map(({ found_at }: { found_at?: string }) => found_at),
    [began_at, began_at, ...Array(4)],
  );
  // A check that fails for nothing takes the definite verdicts too, and never those of a moment.
  t.deepEqual((await asked([file, '--cache', '--fail-on', 'none'])).paths, ['/challenge', '/500']);
  t.regex(
    (await asked([file, '--cache', '--fail-on', 'none'])).stdout,
    /2 URLs checked in .*, 4 taken from the cache\n/,
  );
  t.deepEqual((await asked([file])).paths, PATHS);
});

test('a result counts up to its age, and only under the same options', async (t) => {
  const { asked, file } = await worldOf(t);
  await asked([file, '--cache']);
  const fine = ['--fail-on', 'none', '--cache'];
  for (const other of [
    ['--timeout', '14'],
    ['--user-agent', 'another'],
    ['--allow-address', '127.0.0.1'],
  ]) {
    t.deepEqual((await asked([file, ...fine, ...other])).paths, PATHS, other[0]);
  }
  for (const [name, value] of [
    ['NODE_EXTRA_CA_CERTS', '/ca.pem'],
    ['NODE_TLS_REJECT_UNAUTHORIZED', '0'],
  ] as const) {
    t.deepEqual((await asked([file, ...fine], { env: { [name]: value } })).paths, PATHS, name);
  }
  t.deepEqual((await asked([file, ...fine, '--per-host', '3'])).paths, ['/challenge', '/500']);
});

test('a page that is gone since is found so, and the cache forgets that it was there', async (t) => {
  const { asked, gone, site, write } = await worldOf(t);
  const file = await write('moody.txt', `${site.origin}/moody\n`);
  t.is((await asked([file, '--cache'])).code, 0);
  gone.yes = true;
  t.is((await asked([file, '--cache'])).code, 0);
  t.is((await asked([file])).code, 1);
  t.is((await asked([file, '--cache', '--fail-on', 'ok,dead'])).code, 1);
  t.is((await asked([file, '--cache'])).code, 1);
});

test('a damaged cache starts again, and one that cannot be written costs requests alone', async (t) => {
  const { asked, file, env, write } = await worldOf(t);
  await asked([file, '--cache']);
  const path = cacheFile(env);
  const whole = await readFile(path);
  for (const damaged of [
    whole.subarray(0, whole.length / 2),
    Buffer.from('no database'.repeat(500)),
    Buffer.alloc(0),
  ]) {
    await writeFile(path, damaged);
    const { code, paths } = await asked([file, '--cache']);
    t.is(code, 1);
    t.deepEqual(paths, PATHS);
    t.deepEqual((await asked([file, '--cache'])).paths, PATHS.slice(2));
  }
  await writeFile(join(path, '..', '..', 'no-folder'), '');
  const { code, stderr, paths } = await asked([file, '--cache'], {
    env: { DATA_DIR: '', XDG_CACHE_HOME: await write('no-folder', '') },
  });
  t.is(code, 1);
  t.deepEqual(paths, PATHS);
  t.regex(stderr, /^The cache of results is not used: .*no-folder/);
});

test('an old result and one from the future do not count, and old ones are removed', async (t) => {
  const { folder } = await checkWorld(t);
  const cache = ResultCache.open(join(folder, 'cache.db'), 'options');
  t.teardown(() => cache.close());
  const result = (url: string) => ({ ...unpackOutcome('{}'), url, file: null, row: null, cell: null });
  const find = (url: string, now: number, max_age_ms = 1000) => cache.find(url, { now, max_age_ms, except: [] });
  cache.keep([result('http://a.example/')], 5000);
  t.is(find('http://a.example/', 6000)?.found_at, new Date(5000).toISOString());
  t.is(find('http://a.example/', 6001), null);
  t.is(find('http://a.example/', 4999), null);
  cache.keep([result('http://b.example/')], 5001 + LONGEST_AGE_MS);
  t.is(find('http://a.example/', 5000, LONGEST_AGE_MS), null);
});

test('of two checks at once the later one is believed, whichever ends first', async (t) => {
  const { folder } = await checkWorld(t);
  const cache = ResultCache.open(join(folder, 'cache.db'), 'options');
  t.teardown(() => cache.close());
  const url = 'http://a.example/';
  const result = (outcome: object) => ({ ...unpackOutcome('{}'), ...outcome, url, file: null, row: null, cell: null });
  const find = () => cache.find(url, { now: Date.now(), max_age_ms: LONGEST_AGE_MS, except: [] });
  const at = Date.now() - 10_000;
  cache.keep([result({ verdict: 'unreachable', error_code: 'connection_refused' })], at + 1000);
  cache.keep([result({})], at);
  t.is(find(), null);
  cache.keep([result({})], at + 2000);
  t.is(find()?.verdict, 'ok');
  cache.keep([result({ verdict: 'broken', status_code: 404 })], Date.now() + 3_600_000);
  t.is(find(), null);
  cache.keep([result({})], at + 3000);
  t.is(find()?.verdict, 'ok', 'a clock that was set ahead is not believed for ever');
});

test('a run that was resumed under other options keeps nothing for later checks', async (t) => {
  const { folder } = await checkWorld(t);
  const path = join(folder, 'run.db');
  const first = RunStore.open(path)!;
  const urls = ['http://a.example/', 'http://b.example/'].map((url) => ({ url, file: null, row: null, cell: null }));
  await first.list(
    (async function* () {
      yield urls;
    })(),
    () => ({}) as RunFacts,
  );
  t.true(first.tellOptions('one'));
  t.true(first.tellOptions('two'), 'nothing has been found yet');
  first.keep(0, unpackOutcome('{}'));
  first.flush();
  t.true(first.tellOptions('two'));
  first.close();
  const resumed = RunStore.open(path)!;
  t.teardown(() => resumed.close());
  t.false(resumed.tellOptions('one'));
  t.false(resumed.tellOptions('two'));
});

test('the cache lies in DATA_DIR, or in the folder of the user for caches', (t) => {
  t.is(cacheFile({ DATA_DIR: '/data', XDG_CACHE_HOME: '/cache' }), '/data/check-cache/results.db');
  t.is(cacheFile({ XDG_CACHE_HOME: '/cache' }), '/cache/url-checker/results.db');
  t.regex(cacheFile({}), /\/\.cache\/url-checker\/results\.db$/);
});

test('--max-age is a time up to 30 days, and needs --cache', (t) => {
  const ages = { '90s': 90_000, '2h': 7_200_000, '30d': LONGEST_AGE_MS };
  for (const [given, ms] of Object.entries(ages)) {
    t.is(readCommand(['a.txt', '--cache', '--max-age', given])!.cache_max_age_ms, ms);
  }
  t.is(readCommand(['a.txt', '--cache'])!.cache_max_age_ms, 86_400_000);
  t.is(readCommand(['a.txt'])!.cache_max_age_ms, null);
  for (const wrong of ['0d', '31d', '1', 'd', '1w', '-1d', '1e3s', '']) {
    t.throws(() => readCommand(['a.txt', '--cache', '--max-age', wrong]), { instanceOf: UsageError }, wrong);
  }
  t.throws(() => readCommand(['a.txt', '--max-age', '1d']), { instanceOf: UsageError, message: /--cache/ });
});
