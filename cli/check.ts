// `npm run check -- FILE [--direct] [--json] [--column NAME] [--out results.csv]`: checks a file by a local service of its own or, with
// --direct, by the engine alone. Exit code 1 when a URL is broken, 2 when the file cannot be checked.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { IntakeError } from '../intake/errors.ts';
import { ConfigError, readConfig } from '../settings/config.ts';
import { checkDirectly } from './check-direct.ts';
import { checkFile, untilInterrupted } from './check-file.ts';
import { Refused } from './client.ts';
import { bill, type CheckedJob, report, type Tally } from './report.ts';

const USAGE = 'usage: npm run check -- FILE.csv [--direct] [--json] [--column NAME|LETTER] [--out results.csv]';

const { file, direct, json, results, column = null } = commandLine();
const signal = untilInterrupted();
const out = json ? process.stderr : process.stdout;
try {
  process.exitCode = direct ? await byEngine() : await byService();
} catch (error) {
  const { code } = error as NodeJS.ErrnoException;
  const is_users = error instanceof Refused || error instanceof IntakeError || error instanceof ConfigError;
  if (!is_users && !['ENOENT', 'EISDIR', 'EACCES'].includes(code ?? '')) throw error;
  console.error(`${file}: ${(error as Error).message}`);
  process.exitCode = 2;
}

function commandLine() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        direct: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        column: { type: 'string' },
        out: { type: 'string', default: 'results.csv' },
      },
    });
    const [path] = positionals;
    if (path && positionals.length === 1) {
      if (resolve(path) === resolve(values.out))
        throw new Error(`--out is the file to check: name another than ${path}`);
      return { ...values, file: path, results: values.out };
    }
  } catch (error) {
    console.error((error as Error).message);
  }
  console.error(USAGE);
  process.exit(2);
}

async function byEngine(): Promise<number> {
  const { job, tally, seconds } = await checkDirectly(file, results, out, signal, readConfig(process.env), column);
  if (signal.aborted) {
    const written = Object.values(tally.verdicts).reduce((sum, n) => sum + n, 0);
    console.error(`Interrupted: the first ${written} of ${job.total_urls} results are in ${results}.`);
    return 130;
  }
  return say(job, tally, seconds, () => report(job, tally, seconds));
}

async function byService(): Promise<number> {
  // Imported here, because --direct does not need the service's modules.
  const { startLocalService } = await import('./local-service.ts');
  // A new account with credits for the largest job: local checks are free.
  const { service, client } = await startLocalService(`check-${Date.now()}`, {
    DATA_DIR: 'data/check',
    LOG_FILE: 'data/check/service.log',
    PORT: '0',
    SIGNUP_CREDITS: '1000000',
  });
  try {
    const checked = await checkFile(client, file, results, out, signal, column);
    if (!checked) return 130;
    const { job, tally, credits, seconds } = checked;
    return say(job, tally, seconds, () => `${report(job, tally, seconds)}\n${bill(job, credits)}`);
  } finally {
    await service.stop();
  }
}

function say(job: CheckedJob, tally: Tally, seconds: number, text: () => string): number {
  const { verdicts, broken_count } = tally;
  if (json) console.log(JSON.stringify({ job, verdicts, broken: broken_count, results, seconds }, null, 2));
  else console.log(`${text()}\n\nAll results: ${results}`);
  return broken_count > 0 ? 1 : 0;
}
