// The command line of `check`: its options, and the values that each takes. Decision 52 says why.
import { parseArgs } from 'node:util';
import type { Verdict } from '../../events/checks.ts';
import { SETTINGS } from '../../settings/config.ts';
import { type FileFormat, formatOfFile, isPrintFormat, type PrintFormat } from './formats.ts';
import { DEAD, VERDICT_WORDS, verdictsOf } from './verdict-sets.ts';

export type Input = { kind: 'url'; url: string } | { kind: 'file'; path: string } | { kind: 'stdin' };

export interface CheckCommand {
  inputs: readonly Input[];
  column: string | null;
  /** Globs of files, and beginnings of URLs, that are left out. */
  exclude: readonly string[];
  only: readonly Verdict[] | null;
  fail_on: readonly Verdict[];
  format: PrintFormat;
  /** False when nothing but an explicit format is printed. */
  prints: boolean;
  outs: readonly { path: string; format: FileFormat }[];
  is_quiet: boolean;
  shows_progress: boolean;
  resume: boolean;
  keep: boolean;
  /** The age up to which a result of an earlier check counts; null where none does. */
  cache_max_age_ms: number | null;
  /** Environment variables of the settings that options stand for. */
  settings: Readonly<Record<string, string>>;
}

/** The command line is wrong. The message says what is wrong with it. */
export class UsageError extends Error {
  readonly code = 'usage';
}

const text = { type: 'string' } as const;
const texts = { type: 'string', multiple: true, default: [] as string[] } as const;
const flag = { type: 'boolean', default: false } as const;

const OPTIONS = {
  column: text,
  exclude: texts,
  only: texts,
  'fail-on': texts,
  format: text,
  json: flag,
  out: { ...texts, short: 'o' },
  quiet: { ...flag, short: 'q' },
  'no-progress': flag,
  resume: flag,
  keep: flag,
  cache: flag,
  'max-age': text,
  concurrency: text,
  'per-host': text,
  timeout: text,
  retries: text,
  'user-agent': text,
  'allow-address': texts,
  help: { ...flag, short: 'h' },
} as const;

/** The settings that an option stands for, as the environment names them. */
const SETTING_OF = {
  concurrency: 'CHECKER_CONCURRENCY',
  'per-host': 'CHECKER_PER_HOST',
  retries: 'CHECKER_RETRIES',
  'user-agent': 'CHECKER_USER_AGENT',
} as const;

/** Returns null when the command line asks for help. Throws `UsageError`. */
export function readCommand(args: readonly string[]): CheckCommand | null {
  const { values, positionals } = parsed(args);
  if (values.help) return null;
  const { resume, keep, quiet: is_quiet, json } = values;
  const named = values.format ?? (json ? 'json' : undefined);
  if (json && values.format !== undefined && values.format !== 'json') {
    throw new UsageError(`--json is --format json, and --format is ${values.format}: give one of them`);
  }
  if (named !== undefined && !isPrintFormat(named)) {
    throw new UsageError(
      `--format is ${quoted(named)}: it must be text, json, csv, junit, github, sarif, markdown or html`,
    );
  }
  if (positionals.length === 0 && !resume)
    throw new UsageError('there is no input: give a URL, a file, a folder, or - for standard input');
  return {
    inputs: inputsOf(positionals),
    column: values.column ?? null,
    exclude: values.exclude,
    only: values.only.length === 0 ? null : verdictsNamed('--only', values.only),
    fail_on: failOn(values['fail-on']),
    format: named ?? 'text',
    prints: !is_quiet || named !== undefined,
    outs: values.out.map((path) => ({ path, format: formatNamedBy(path) })),
    is_quiet,
    shows_progress: !is_quiet && !values['no-progress'],
    resume,
    keep,
    cache_max_age_ms: maxAge(values),
    settings: settingsOf(values),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // Its message names the option; the rest of it explains how to write a positional argument that begins with a dash.
    throw new UsageError((error as Error).message.split('. ')[0]!);
  }
}

function inputsOf(positionals: readonly string[]): Input[] {
  if (positionals.filter((one) => one === '-').length > 1)
    throw new UsageError('give - only once: standard input can be read once');
  return positionals.map((given): Input => {
    if (given === '-') return { kind: 'stdin' };
    if (!/^https?:/i.test(given)) return { kind: 'file', path: given };
    if (!URL.canParse(given)) throw new UsageError(`${quoted(given)} is not a URL`);
    return { kind: 'url', url: given };
  });
}

function verdictsNamed(option: string, words: readonly string[]): readonly Verdict[] {
  const verdicts = verdictsOf(words);
  if (verdicts === null) {
    throw new UsageError(
      `${option} is ${quoted(words.join(','))}: it must be ${VERDICT_WORDS.slice(0, -1).join(', ')} or ${VERDICT_WORDS.at(-1)}, with commas between`,
    );
  }
  return verdicts;
}

function failOn(words: readonly string[]): readonly Verdict[] {
  if (words.length === 0) return DEAD;
  return words.length === 1 && words[0] === 'none' ? [] : verdictsNamed('--fail-on', words);
}

/** Of a result of an earlier check. */
export const LONGEST_AGE_MS = 30 * 24 * 3600 * 1000;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function maxAge({ cache, 'max-age': named }: ReturnType<typeof parsed>['values']): number | null {
  if (!cache && named !== undefined)
    throw new UsageError('--max-age is the age of results of --cache, which is not given');
  const given = named ?? '1d';
  const [, number, unit] = /^(\d{1,7})([smhd])$/.exec(given) ?? [];
  const ms = Number(number) * UNITS_MS[unit ?? '']!;
  if (!(ms > 0 && ms <= LONGEST_AGE_MS)) {
    throw new UsageError(`--max-age is ${quoted(given)}: it must be a time up to 30d, such as 90m, 12h or 7d`);
  }
  return cache ? ms : null;
}

function formatNamedBy(path: string): FileFormat {
  const format = formatOfFile(path);
  if (format !== null) return format;
  throw new UsageError(
    `--out is ${quoted(path)}: it must be a file that ends in .csv, .xlsx, .json, .xml, .sarif, .md, .html or .txt`,
  );
}

function settingsOf(values: ReturnType<typeof parsed>['values']): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [option, env] of Object.entries(SETTING_OF) as [keyof typeof SETTING_OF, keyof typeof SETTINGS][]) {
    const given = values[option];
    if (given !== undefined) settings[env] = accepted(`--${option}`, env, given);
  }
  if (values.timeout !== undefined) {
    const ms = /^\d{1,6}(\.\d{1,6})?$/.test(values.timeout) ? String(Math.round(Number(values.timeout) * 1000)) : '';
    if (ms === '' || SETTINGS.CHECKER_TIMEOUT_MS.parse(ms) === undefined) {
      throw new UsageError(`--timeout is ${quoted(values.timeout)}: it must be seconds from 0.1 to 300`);
    }
    settings.CHECKER_TIMEOUT_MS = ms;
  }
  const addresses = values['allow-address'];
  if (addresses.length > 0) {
    settings.CHECKER_ALLOW_ADDRESSES = accepted('--allow-address', 'CHECKER_ALLOW_ADDRESSES', addresses.join(','));
  }
  return settings;
}

function accepted(option: string, env: keyof typeof SETTINGS, given: string): string {
  const { parse, wants } = SETTINGS[env];
  if (given.trim() === '' || parse(given) === undefined) {
    throw new UsageError(`${option} is ${quoted(given)}: it must be ${wants}`);
  }
  return given;
}

const quoted = (given: string) => JSON.stringify(given.slice(0, 200));
