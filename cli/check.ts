// `npm run check -- [OPTIONS] INPUT...`: checks URLs by the engine alone, without the service. `--help` says what it takes.
import { IntakeError } from '../intake/errors.ts';
import { ConfigError } from '../settings/config.ts';
import { type CheckCommand, readCommand, UsageError } from './check/command.ts';
import { withExampleSite } from './check/example-site.ts';
import { HELP, USAGE } from './check/help.ts';
import { InputError } from './check/inputs.ts';
import { OutputError } from './check/outputs.ts';
import { EXIT, runCheck } from './check/run-check.ts';
import { runsFolder } from './check/run-folders.ts';
import { RunError } from './check/run-store.ts';
import { onInterrupts } from './interrupts.ts';
import { userFolder } from './user-folder.ts';

const say = (text: string) => void process.stderr.write(`${text}\n`);

// Without these, an error of this program would end it with the code of a broken URL.
process.on('uncaughtException', (error) => fail(error));
// Nobody reads what is said any more; the results are still written.
for (const out of [process.stdout, process.stderr]) out.on('error', () => {});

// A relative DATA_DIR means the same as for the service.
const runs = runsFolder(process.env);

process.chdir(userFolder());

const interrupts = onInterrupts();
const command = commandLine();
if (command !== null) {
  try {
    const prepared = await withExampleSite(command, process.env.CHECKER_ALLOW_ADDRESSES);
    if (prepared.site !== null && !command.is_quiet) {
      say(`The URLs of this example lie on a sample website, which runs at ${prepared.site.url} for this check.`);
    }
    const code = await runCheck(prepared.command, {
      env: process.env,
      runs,
      signal: interrupts.signal,
      out: process.stdout,
      err: process.stderr,
    });
    await new Promise((resolve) => process.stdout.write('', resolve));
    process.exit(code === EXIT.interrupted ? interrupts.code : code);
  } catch (error) {
    fail(error);
  }
}

/** Null when there is nothing to run. */
function commandLine(): CheckCommand | null {
  try {
    const read = readCommand(process.argv.slice(2));
    if (read === null) process.stdout.write(HELP);
    return read;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say(`${error.message}\n${USAGE}`);
    process.exitCode = EXIT.wrong;
    return null;
  }
}

function fail(error: unknown): never {
  const is_users = [InputError, OutputError, RunError, IntakeError, ConfigError].some(
    (known) => error instanceof known,
  );
  say(is_users || isOfSystem(error) ? (error as Error).message : String((error as Error).stack ?? error));
  process.exit(EXIT.wrong);
}

/** A file or a folder that cannot be used: the message names it. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
