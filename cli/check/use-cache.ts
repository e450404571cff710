// What a check does with the cache of results: before its requests it takes what is still good, after them it keeps what it found. A cache
// that cannot be read or written is told, and costs requests; it fails no check.
import { setImmediate } from 'node:timers/promises';
import type { EngineSettings } from '../../checkers/engine/engine.ts';
import type { FoundOutcome } from './checked.ts';
import type { CheckCommand } from './command.ts';
import { cacheFile, optionsDigest, ResultCache } from './result-cache.ts';
import type { RunStore } from './run-store.ts';

/** URLs looked up between two looks at the signal. */
const PAGE = 1000;

export interface CacheUse {
  env: NodeJS.ProcessEnv;
  settings: EngineSettings;
  signal: AbortSignal;
  say: (text: string) => void;
}

/** Checks the run by `check`, with the cache where the command line asks for it. */
export async function withCache(
  run: RunStore,
  { cache_max_age_ms: max_age_ms, fail_on: except }: Pick<CheckCommand, 'cache_max_age_ms' | 'fail_on'>,
  { env, settings, signal, say }: CacheUse,
  check: () => Promise<void>,
): Promise<void> {
  const options = optionsDigest(settings, env);
  // A resumed run may have results that were found under other options.
  const is_of_one_kind = run.tellOptions(options);
  if (max_age_ms === null) return check();
  const failed = (error: unknown) => say(`The cache of results is not used: ${(error as Error).message}`);
  let cache: ResultCache;
  try {
    cache = ResultCache.open(cacheFile(env), options);
  } catch (error) {
    failed(error);
    return check();
  }
  try {
    const find = (url: string) => cache.find(url, { now: Date.now(), max_age_ms, except });
    await take(run, find, signal).catch(failed);
    await check();
    try {
      if (is_of_one_kind) cache.keep(run.results(), Date.parse(run.facts!.began_at));
    } catch (error) {
      failed(error);
    }
  } finally {
    cache.close();
  }
}

async function take(run: RunStore, find: (url: string) => FoundOutcome | null, signal: AbortSignal): Promise<void> {
  try {
    let page = run.pending(-1, PAGE);
    for (; page.length > 0 && !signal.aborted; page = run.pending(page.at(-1)!.index, PAGE)) {
      for (const { index, url } of page) {
        const outcome = find(url);
        if (outcome !== null) run.keep(index, outcome);
      }
      await setImmediate();
    }
  } finally {
    // What has counted is not pending, also where the cache failed in between.
    run.flush();
  }
}
