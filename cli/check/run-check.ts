// A check from its inputs to its report and its exit code.
import { createEngine } from '../../checkers/index.ts';
import { limitsOf } from '../../intake/limits.ts';
import { engineSettings } from '../../service/engine-settings.ts';
import { type Config, readConfig } from '../../settings/config.ts';
import { type Out, showProgress } from '../progress.ts';
import { checkUrls } from './check-urls.ts';
import { type Checked, countOf, isInterrupted, readingText } from './checked.ts';
import type { CheckCommand } from './command.ts';
import { digestOf, InputError, listUrls, type OpenInput, openInputs, type ReadOptions } from './inputs.ts';
import { print, tryOutFiles, writeFiles } from './outputs.ts';
import { findRun, newRun, openRuns, type Run, removeRun } from './run-folders.ts';
import type { RunStore } from './run-store.ts';

export const EXIT = { fine: 0, failing: 1, wrong: 2, interrupted: 130 } as const;

export interface World {
  env: NodeJS.ProcessEnv;
  /** The folder of runs. */
  runs: string;
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
  await openRuns(runs, Date.now());
  const { inputs, forgetStdin } = await openInputs(command.inputs, limits.max_file_bytes, signal);
  let forgetFiles = async () => {};
  let run: Run | null = null;
  try {
    forgetFiles = await tryOutFiles(command.outs, inputs);
    run = await runOf(command, inputs, runs, { column: command.column, limits, signal }, note);
    await forgetStdin();
    await checkRun(run.store, config, command, world);
    if (run.store.completed === 0) signal.throwIfAborted();
    const checked = checkedOf(run.store, command);
    await writeFiles(checked, command.outs);
    if (command.prints) await print(checked, command.format, out);
    return await end(run, checked, command, say);
  } catch (error) {
    await forgetFiles();
    const is_kept = run !== null && run.store.completed > 0;
    if (is_kept) run!.store.close();
    else if (run !== null) await removeRun(run);
    if (is_kept) say(`The results so far are kept in ${run!.folder}. The same command with --resume goes on.`);
    throw error;
  } finally {
    await forgetStdin();
  }
}

/** The settings of the environment that a check has, and over them the options. */
function configOf(env: NodeJS.ProcessEnv, { settings }: CheckCommand): Config {
  const own = Object.entries(env).filter(([name]) => /^(CHECKER|MAX)_/.test(name));
  return readConfig({ ...Object.fromEntries(own), ...settings });
}

/** The run to go on with, or a new one whose URLs are listed. */
async function runOf(
  command: CheckCommand,
  inputs: readonly OpenInput[],
  runs: string,
  options: ReadOptions,
  note: (text: string) => void,
): Promise<Run> {
  const digest = inputs.length === 0 ? null : await digestOf(inputs, options);
  if (command.resume) {
    const found = await findRun(runs, digest);
    if (found === 'busy') throw new InputError('Another process works on the check of this input.');
    if (found !== 'none') {
      const { completed, facts } = found.store;
      note(`Going on: ${completed} of ${facts!.counts.total_urls} URLs are checked.`);
      return found;
    }
    if (digest !== null) note('There is no interrupted check of this input: it begins anew.');
  }
  if (digest === null) throw new InputError('There is no interrupted check to go on with.');
  const urls = await listUrls(inputs, options);
  for (const reading of urls.readings) {
    const said = readingText(reading).trimEnd();
    if (said !== '') note(inputs.length === 1 ? said : `${reading.name}: ${said}`);
  }
  const run = await newRun(runs, digest);
  try {
    const began_at = new Date().toISOString();
    await run.store.list(urls, () => ({
      counts: urls.counts,
      inputs: urls.readings,
      rejected: urls.rejected,
      began_at,
    }));
  } catch (error) {
    await removeRun(run);
    throw error;
  }
  return run;
}

async function checkRun(store: RunStore, config: Config, command: CheckCommand, { signal, err }: World): Promise<void> {
  const total = store.facts!.counts.total_urls;
  if (store.completed === total) return;
  const engine = createEngine(engineSettings(config), {
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
    counts: { ...counts, completed_urls: store.completed },
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

async function end(run: Run, checked: Checked, command: CheckCommand, say: (text: string) => void): Promise<number> {
  const { completed_urls, total_urls } = checked.counts;
  if (isInterrupted(checked)) {
    run.store.close();
    say(`Interrupted: ${completed_urls} of ${total_urls} URLs are checked, and their results kept in ${run.folder}.`);
    say('The same command with --resume goes on.');
    return EXIT.interrupted;
  }
  if (command.keep) run.store.close();
  else await removeRun(run);
  return countOf(checked, command.fail_on) > 0 ? EXIT.failing : EXIT.fine;
}
