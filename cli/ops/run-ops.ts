// Runs one command of `npm run ops` by the words of its command line: the program around it is cli/ops.ts.
import { errorOfBlock } from '../closing.ts';
import { COMMANDS } from './all.ts';
import { EXIT, type Exit, parse, type Run, UsageError } from './command.ts';

/** Throws where the command could not do its work: `failureOf` says why, and the exit code is 2. */
export async function runOps(
  words: readonly string[],
  { env, folder, in: input, out, err }: Pick<Run, 'env' | 'folder' | 'in' | 'out' | 'err'>,
): Promise<Exit> {
  const parsed = await parse(COMMANDS, words);
  if ('help' in parsed) {
    out.write(parsed.help);
    return EXIT.clean;
  }
  const { command, values } = parsed;
  return command.run({
    values,
    arguments: parsed.arguments,
    env,
    json: values.json === true,
    folder,
    in: input,
    out,
    err,
  });
}

/** What the user reads of an error: a stack only where nobody foresaw it. */
export function failureOf(thrown: unknown): string {
  const error = errorOfBlock(thrown);
  const { message, stack, code } = error as Error & { code?: unknown };
  return `${error instanceof UsageError || code !== undefined ? message : stack}\n`;
}
