// `npm run demo [-- --exit]`: starts the service and a sample website, checks a file, and reports results and credits.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { textOf } from './check/text.ts';
import { bill, checkFile } from './check-file.ts';
import { onInterrupts } from './interrupts.ts';
import { startLocalService } from './local-service.ts';
import { openSampleSite, SAMPLE_PORT, type SampleSite } from './sample-site.ts';

const EXAMPLE = 'examples/urls.csv';
const RESULTS = 'results.csv';

const { values } = parseArgs({ options: { exit: { type: 'boolean', default: false } } });
const { signal } = onInterrupts();
const say = (text: string) => console.log(text);

const site = await openSampleSite();
const user = `demo-${Date.now()}`;
const { service, config, url, client } = await startLocalService(user, {
  DATA_DIR: 'data/demo',
  LOG_FILE: 'data/demo/service.log',
  CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
  WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
});
const folder = await mkdtemp(join(tmpdir(), 'url-checker-demo-'));
try {
  say(`The service runs at ${styleText('cyan', url)}, its sample website at http://127.0.0.1:${site.port}.`);
  say(`Checking ${EXAMPLE} …\n`);
  const path = await exampleFor(site, folder);
  const checked = await checkFile(client, path, RESULTS, signal);
  if (checked) {
    say([...textOf(checked, styleText)].join('').trimEnd());
    say(`\n${styleText('bold', 'Credits')}\n${bill(checked.job, checked.credits)}`);
    say(`\nAll results: ${styleText('cyan', RESULTS)}`);
    if (!values.exit && !signal.aborted) {
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

/** Returns the example's path, or that of a copy with the sample website's port when the usual port is taken. */
async function exampleFor({ port }: SampleSite, into: string): Promise<string> {
  if (port === SAMPLE_PORT) return EXAMPLE;
  const path = join(into, 'urls.csv');
  await writeFile(path, (await readFile(EXAMPLE, 'utf8')).replaceAll(`:${SAMPLE_PORT}/`, `:${port}/`));
  return path;
}

function aborted(of: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (of.aborted) resolve();
    else of.addEventListener('abort', () => resolve(), { once: true });
  });
}
