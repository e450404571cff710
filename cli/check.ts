// `npm run check -- FILE [--json] [--out results.csv]`: checks a file of one's own. Exit code 1 when something is broken,
// 2 when the file cannot be checked.
import { parseArgs } from 'node:util';
import { checkFile, untilInterrupted } from './check-file.ts';
import { Refused } from './client.ts';
import { startLocalService } from './local-service.ts';
import { report } from './report.ts';

const USAGE = 'usage: npm run check -- FILE.csv [--json] [--out results.csv]';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, out: { type: 'string', default: 'results.csv' } },
});
const [path] = positionals;
if (!path || positionals.length > 1) {
  console.error(USAGE);
  process.exit(2);
}
const signal = untilInterrupted();
// An account of its own, with as many credits as a job can need: on one's own machine checking is free.
const { service, client } = await startLocalService(`check-${Date.now()}`, {
  DATA_DIR: 'data/check',
  LOG_FILE: 'data/check/service.log',
  PORT: '0',
  SIGNUP_CREDITS: '1000000',
});
try {
  const out = values.json ? process.stderr : process.stdout;
  const checked = await checkFile(client, path, values.out, out, signal);
  if (!checked) process.exitCode = 130;
  else {
    const { job, tally, credits, seconds } = checked;
    if (values.json) {
      const { verdicts, broken_count } = tally;
      console.log(JSON.stringify({ job, verdicts, broken: broken_count, results: values.out, seconds }, null, 2));
    } else {
      console.log(report(job, tally, credits, seconds));
      console.log(`\nAll results: ${values.out}`);
    }
    process.exitCode = tally.broken_count > 0 ? 1 : 0;
  }
} catch (error) {
  if (!(error instanceof Refused) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  console.error(`${path}: ${(error as Error).message}`);
  process.exitCode = 2;
} finally {
  await service.stop();
}
