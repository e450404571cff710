// A check from its inputs to its report and its exit code.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine, type EngineSettings } from '../../checkers/index.ts';
import { limitsOf } from '../../intake/limits.ts';
import { engineSettings } from '../../service/engine-settings.ts';
import { type Config, readConfig } from '../../settings/config.ts';
import { type Out, showProgress } from '../progress.ts';
import { checkUrls } from './check-urls.ts';
import { type Checked, countOf, isInterrupted, readingText } from './checked.ts';
import type { CheckCommand } from './command.ts';
import { exclusionOf } from './find-files.ts';
import {
  digestOf,
  InputError,
  listUrls,
  type OpenInput,
  openInputs,
  type ReadOptions,
  type UrlList,
} from './inputs.ts';
import { print, tryOutFiles, writeFiles } from './outputs.ts';
import { findRun, newRun, openRuns, type Run, type RunsFolder, removeRun } from './run-folders.ts';
import type { RunStore } from './run-store.ts';
import { rejectedText } from './text.ts';
import { withCache } from './use-cache.ts';

export const EXIT = { fine: 0, failing: 1, wrong: 2, interrupted: 130 } as const;

export interface World {
  env: NodeJS.ProcessEnv;
  runs: RunsFolder;
  /** Aborts at the first Ctrl-C. */
  signal: AbortSignal;
  /** The results. */
  out: NodeJS.WritableStream;
  /** Progress and notes. */
  err: Out;
}

/** Returns the exit code. Throws errors of the settings, of inputs and of files to write. */
export async function runCheck(command: CheckCommand, world: World): Promise<number> {
  try {
    return await check(command, world);
  } catch (error) {
    if (!world.signal.aborted || (error as Error).name !== 'AbortError') throw error;
    world.err.write('Interrupted before the first result.\n');
    return EXIT.interrupted;
  }
}

async function check(command: CheckCommand, world: World): Promise<number> {
  const { env, runs, signal, out, err } = world;
  const say = (text: string) => void err.write(`${text}\n`);
  const config = configOf(env, command);
  const note = command.is_quiet ? () => {} : say;
  const limits = limitsOf(config);
  const place = await placeOfRuns(runs, command, note);
  const exclude = exclusionOf(command.exclude);
  const { max_file_bytes } = limits;
  const { inputs, notes, forgetStdin } = await openInputs(command.inputs, { max_file_bytes, exclude, signal });
  for (const said of notes) say(said);
  let forgetFiles = async () => {};
  let run: Run | null = null;
  try {
    forgetFiles = await tryOutFiles(command.outs, inputs);
    const options = { column: command.column, exclude: command.exclude, limits, signal };
    run = await runOf(command, inputs, place.folder, options, { note, say });
    await forgetStdin();
    const { store } = run;
    const settings = engineSettings(config);
    await withCache(store, command, { env, settings, signal, say }, () => checkRun(store, settings, command, world));
    if (run.store.completed === 0) signal.throwIfAborted();
    const checked = checkedOf(run.store, command);
    await writeFiles(checked, command.outs);
    if (command.prints) await print(checked, command.format, out);
    return await end(run, checked, command, { say, is_kept: place.is_kept });
  } catch (error) {
    await forgetFiles();
    const is_kept = place.is_kept && run !== null && run.store.completed > 0;
    if (is_kept) run!.store.close();
    else if (run !== null) await removeRun(run);
    if (is_kept) say(`The results so far are kept in ${run!.folder}. The same command with --resume continues.`);
    throw error;
  } finally {
    await forgetStdin();
    if (!place.is_kept) await rm(place.folder, { recursive: true, force: true });
  }
}

/** The folder of runs; where it cannot be made or written, as in a container without a home, one for this check alone. */
async function placeOfRuns(
  { path, is_named }: RunsFolder,
  { resume, keep }: CheckCommand,
  note: (text: string) => void,
): Promise<{ folder: string; is_kept: boolean }> {
  try {
    if (path === null) throw new InputError('this user has no home');
    await openRuns(path, Date.now());
    return { folder: path, is_kept: true };
  } catch (error) {
    if (is_named || resume || keep) throw error;
    note(`An interrupted check cannot be resumed: ${(error as Error).message}`);
    return { folder: await mkdtemp(join(tmpdir(), 'url-checker-check-')), is_kept: false };
  }
}

/** The settings of the environment that a check has, and over them the options. */
function configOf(env: NodeJS.ProcessEnv, { settings }: CheckCommand): Config {
  const own = Object.entries(env).filter(([name]) => /^(CHECKER|MAX)_/.test(name));
  return readConfig({ ...Object.fromEntries(own), ...settings });
}

/** The run to continue with, or a new one whose URLs are listed. */
async function runOf(
  command: CheckCommand,
  inputs: readonly OpenInput[],
  runs: string,
  options: ReadOptions,
  { note, say }: Record<'note' | 'say', (text: string) => void>,
): Promise<Run> {
  const digest = inputs.length === 0 ? null : await digestOf(inputs, options);
  if (command.resume) {
    const found = await findRun(runs, digest);
    if (found === 'busy') throw new InputError('Another process works on the check of this input.');
    if (found !== 'none') {
      const { completed, facts } = found.store;
      note(`Continuing: ${completed} of ${facts!.counts.total_urls} URLs are checked.`);
      return found;
    }
    if (digest !== null) note('There is no interrupted check of this input: it starts again.');
  }
  if (digest === null) throw new InputError('There is no interrupted check to continue with.');
  const urls = await listUrls(inputs, options);
  const run = await newRun(runs, digest);
  try {
    const began_at = new Date().toISOString();
    await run.store.list(urls, () => ({
      counts: urls.counts,
      inputs: urls.readings,
      rejected: urls.rejected,
      began_at,
    }));
    tellReading(urls, command, { note, say });
  } catch (error) {
    await removeRun(run);
    throw error;
  }
  return run;
}

/** Says how the inputs were read; what was left out of them also where nothing else is said, so that no check passes over it in silence. */
function tellReading(
  { readings, without_urls, excluded, counts, rejected }: UrlList,
  command: CheckCommand,
  { note, say }: Record<'note' | 'say', (text: string) => void>,
): void {
  for (const reading of readings) {
    const said = readingText(reading).trimEnd();
    const is_less = reading.warnings.length > 0 || (command.column === null && reading.other_columns.length > 0);
    if (said !== '') (is_less ? say : note)(readings.length === 1 ? said : `${reading.name}: ${said}`);
  }
  if (without_urls.length > 0) note(`No URL is in ${without_urls.join(', ')}.`);
  if (excluded > 0) note(`--exclude leaves out ${excluded} URLs.`);
  const { invalid_urls_rejected } = counts;
  const is_reported = command.prints && ['text', 'json'].includes(command.format);
  if (invalid_urls_rejected > 0 && !is_reported) {
    const first = rejected[0] && `, such as ${rejectedText(rejected[0])}`;
    say(
      `Not checked: ${invalid_urls_rejected} ${invalid_urls_rejected === 1 ? 'text' : 'texts'} without a URL${first ?? ''}`,
    );
  }
}

async function checkRun(
  store: RunStore,
  settings: EngineSettings,
  command: CheckCommand,
  { signal, err }: World,
): Promise<void> {
  const total = store.facts!.counts.total_urls;
  if (store.completed === total) return;
  const engine = createEngine(settings, {
    starved: (reason) => reason !== null && !command.is_quiet && err.write(`Waiting: ${reason}\n`),
  });
  const progress = command.shows_progress ? showProgress(() => ({ total, done: store.completed }), err) : null;
  try {
    await checkUrls(store, engine, signal);
  } finally {
    progress?.stop();
    await engine.close();
  }
}

function checkedOf(store: RunStore, { only, fail_on }: CheckCommand): Checked {
  const { counts, inputs, rejected, began_at } = store.facts!;
  return {
    counts: { ...counts, completed_urls: store.completed, ...(store.cached > 0 && { cached_urls: store.cached }) },
    verdicts: store.verdicts(),
    seconds: store.elapsed_ms / 1000,
    began_at: new Date(began_at),
    inputs,
    rejected,
    fail_on,
    only,
    results: (verdicts) => store.results(verdicts),
  };
}

async function end(
  run: Run,
  checked: Checked,
  command: CheckCommand,
  { say, is_kept }: { say: (text: string) => void; is_kept: boolean },
): Promise<number> {
  const { completed_urls, total_urls } = checked.counts;
  if (isInterrupted(checked) && !is_kept) {
    await removeRun(run);
    say(`Interrupted: ${completed_urls} of ${total_urls} URLs are checked.`);
    return EXIT.interrupted;
  }
  if (isInterrupted(checked)) {
    run.store.close();
    say(`Interrupted: ${completed_urls} of ${total_urls} URLs are checked, and their results kept in ${run.folder}.`);
    say('The same command with --resume continues.');
    return EXIT.interrupted;
  }
  if (command.keep) run.store.close();
  else await removeRun(run);
  return countOf(checked, command.fail_on) > 0 ? EXIT.failing : EXIT.fine;
}
