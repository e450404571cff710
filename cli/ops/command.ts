// What a command of `npm run ops` is: its words, its options and what it does. The help is made of this.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** 0: all is as it should be. 1: a rule is broken. 2: the command could not find out. */
export const EXIT = { clean: 0, violation: 1, unknown: 2 } as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** The user called a command wrongly, or it cannot work with what it is given. */
export class UsageError extends Error {}

export interface Option {
  type: 'string' | 'boolean';
  /** Stands for the value in the help. */
  value?: string;
  means: string;
  multiple?: boolean;
}

export type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

export interface Run {
  values: Values;
  arguments: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Whether the output is JSON. */
  json: boolean;
  /** Paths of files are relative to it. */
  folder: string;
  in: NodeJS.ReadableStream;
  out: NodeJS.WritableStream;
  err: NodeJS.WritableStream;
}

export interface Command {
  /** Its arguments, such as `FILE`, or `[NAME…]` for any number. */
  arguments?: string;
  summary: string;
  options: Readonly<Record<string, Option>>;
  run(run: Run): Promise<Exit>;
}

const COMMON: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', means: 'print JSON' },
  help: { type: 'boolean', means: 'print this' },
};

export type Parsed = { help: string } | { command: Command; values: Values; arguments: string[] };

/** By their names, such as `ledger verify`. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>;

/** Throws `UsageError` for what no command takes. */
export async function parse(commands: Commands, words: readonly string[]): Promise<Parsed> {
  const names = words.filter((word) => !word.startsWith('-'));
  const name = Object.keys(commands).find((each) => each.split(' ').every((part, n) => words[n] === part));
  if (name === undefined) {
    const [group, ...others] = names;
    const listed = Object.keys(commands).filter((each) => group === undefined || each.startsWith(`${group} `));
    if (listed.length > 0 && others.length === 0) return { help: await overview(commands, listed) };
    throw new UsageError(`there is no command \`${names.slice(0, 2).join(' ')}\`: \`npm run ops -- --help\` lists all`);
  }
  const command = await commands[name]!();
  const all = { ...command.options, ...COMMON };
  try {
    const { values, positionals } = parseArgs({
      args: words.slice(name.split(' ').length),
      options: all as ParseArgsOptionsConfig,
      allowPositionals: command.arguments !== undefined,
    });
    if (values.help) return { help: helpOf(name, command) };
    const wanted = command.arguments?.split(' ').length ?? 0;
    if (!command.arguments?.endsWith('…]') && positionals.length !== wanted)
      throw new UsageError(`it needs ${command.arguments}`);
    return { command, values: values as Values, arguments: positionals };
  } catch (error) {
    throw new UsageError(`${name}: ${(error as Error).message}\n${usageOf(name, command)}`);
  }
}

async function overview(commands: Commands, names: readonly string[]): Promise<string> {
  const rows = await Promise.all(
    names.map(async (name) => {
      const command = await commands[name]!();
      return [calledAs(name, command), command.summary] as const;
    }),
  );
  return `usage: npm run ops -- COMMAND [OPTIONS]

${inColumns(rows)}

The commands read, and change nothing unless they say so. They take the settings of the service: DATA_DIR or EVENTSTORE_URL names the log.
\`npm run -s ops -- COMMAND --help\` explains one, \`--json\` prints JSON. Exit codes: 0 clean, 1 a violation, 2 could not check.
`;
}

const calledAs = (name: string, { arguments: given }: Command) => (given === undefined ? name : `${name} ${given}`);
const usageOf = (name: string, command: Command) => `usage: npm run ops -- ${calledAs(name, command)} [OPTIONS]`;

function helpOf(name: string, command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON }).map(
    ([name, { value, means }]) => [`--${name}${value === undefined ? '' : ` ${value}`}`, means] as const,
  );
  return `${usageOf(name, command)}\n\n${command.summary}\n\n${inColumns(options)}\n`;
}

function inColumns(rows: readonly (readonly [name: string, means: string])[]): string {
  const widest = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, means]) => `  ${name.padEnd(widest)}  ${means}`).join('\n');
}

// Texts of commands: numbers in sentences, and lines that a terminal shows as they are.

/** @example count(1, 'entry', 'entries') // '1 entry' */
export const count = (number: number, one: string, more = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : more}`;

/** Control characters of terminals, and characters that change the order of a line. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** One line of a terminal: characters that would do something there are shown as their codes. */
export const printable = (text: string): string =>
  `${text.replace(UNPRINTABLE, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
