// `npm run sample [-- --port N]`: the demo's sample website by itself, for a first job by hand. Ctrl-C ends it.
import { onInterrupts } from './interrupts.ts';
import { openSampleSiteAt, SAMPLE_PORT } from './sample-site.ts';
import { readWords } from './usage.ts';

const USAGE = 'usage: npm run sample [-- --port N]';
const { values } = readWords({ options: { port: { type: 'string', default: String(SAMPLE_PORT) } } }, USAGE);
const { signal } = onInterrupts();

const site = await openSampleSiteAt(Number(values.port));
if (site === null) {
  console.error(
    `Port ${values.port} is taken: another sample website may run there already, such as that of the demo.`,
  );
  process.exit(1);
}
console.log(`The sample website of examples/urls.csv is at ${site.url}. Ctrl-C ends it.`);
signal.addEventListener('abort', () => void site.close());
