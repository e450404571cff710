// `npm run demo [-- --exit]`: starts the service and a sample website, checks a file, and reports results and credits.
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { issueLocalCode } from '../adapters/identity/index.ts';
import { textOf } from './check/text.ts';
import { bill, checkFile } from './check-file.ts';
import { onInterrupts } from './interrupts.ts';
import { startLocalService } from './local-service.ts';
import { openSampleSite, SAMPLE_ADDRESS, SAMPLE_PORT, type SampleSite } from './sample-site.ts';
import { signInLink } from './sign-in-link.ts';
import { readWords } from './usage.ts';

const EXAMPLE = join(import.meta.dirname, '../examples/urls.csv');
/** The slow pages of the job that still runs when a browser shows it: it takes half a minute. */
const SLOW_PAGES = 200;

const { values } = readWords(
  { options: { exit: { type: 'boolean', default: false } } },
  'usage: npm run demo [-- --exit]',
);
const { signal } = onInterrupts();
const say = (text: string) => console.log(text);

// A port that the user names and another process has, a folder that cannot be written: the message says it.
process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  const is_known = error.syscall !== undefined || ['config', 'start', 'refused'].includes(error.code ?? '');
  console.error(is_known ? error.message : error.stack);
  process.exit(1);
});

const site = await openSampleSite();
const user = `demo-${Date.now()}`;
const folder = await mkdtemp(join(tmpdir(), 'url-checker-demo-'));
const may_write = await isWritable('data/demo');
const data_dir = may_write ? 'data/demo' : join(folder, 'data');
const results = may_write ? 'results.csv' : join(tmpdir(), 'url-checker-results.csv');
await mkdir(data_dir, { recursive: true });
const { service, config, url, client } = await startLocalService(user, {
  DATA_DIR: data_dir,
  LOG_FILE: join(data_dir, 'service.log'),
  CHECKER_ALLOW_ADDRESSES: SAMPLE_ADDRESS,
  WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
});
try {
  say(`The service runs at ${styleText('cyan', url)}, its sample website at ${site.url}.`);
  say('Checking examples/urls.csv …\n');
  const path = await exampleFor(site, folder);
  const checked = await checkFile(client, path, results, signal);
  if (checked) {
    say([...textOf(checked, styleText)].join('').trimEnd());
    say(`\n${styleText('bold', 'Credits')}\n${bill(checked.job, checked.credits)}`);
    say(`\nAll results: ${styleText('cyan', results)}`);
    if (!values.exit && !signal.aborted) {
      const { job_id } = await client.upload(await slowListFor(site, folder));
      const code = await issueLocalCode(config.data_dir, identityOf(user));
      say(`\nSee a job at work in a browser: ${styleText('cyan', signInLink(url, code, `/jobs/${job_id}`))}`);
      say('The link signs you in once, and expires after ten minutes.');
      say(`\nThe service keeps running at ${styleText('cyan', url)}; its API reference is at ${url}/docs.`);
      say(`A token for it: DATA_DIR=${config.data_dir} npm run -s token -- --user ${user} --email ${user}@example.com`);
      say('Ctrl-C ends it.');
      const ended = await Promise.race([aborted(signal), service.failed]);
      if (ended instanceof Error) throw ended;
    }
  }
} finally {
  await service.stop();
  await site.close();
  await rm(folder, { recursive: true, force: true });
}

/** In a project that cannot be written the demo leaves nothing but its results, in the folder of temporary files. */
async function isWritable(path: string): Promise<boolean> {
  try {
    await mkdir(path, { recursive: true });
    await access('.', constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the example's path, or that of a copy with the sample website's port when the usual port is taken. */
async function exampleFor({ port }: SampleSite, into: string): Promise<string> {
  if (port === SAMPLE_PORT) return EXAMPLE;
  const path = join(into, 'urls.csv');
  await writeFile(path, (await readFile(EXAMPLE, 'utf8')).replaceAll(`:${SAMPLE_PORT}/`, `:${port}/`));
  return path;
}

async function slowListFor({ port }: SampleSite, into: string): Promise<string> {
  const path = join(into, 'slow-pages.txt');
  const urls = Array.from({ length: SLOW_PAGES }, (_, n) => `http://127.0.0.1:${port}/slow/${n + 1}\n`);
  await writeFile(path, urls.join(''));
  return path;
}

function identityOf(user_id: string) {
  return { user_id, email: `${user_id}@example.com`, is_admin: false, hours: 24 };
}

function aborted(of: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (of.aborted) resolve();
    else of.addEventListener('abort', () => resolve(), { once: true });
  });
}
