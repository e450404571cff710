// The tutorial of a first API job as a newcomer pastes it, in one go.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { SAMPLE_PORT } from '../../cli/sample-site.ts';
import { freePort } from '../support/free-port.ts';
import { runGuide } from '../support/guide.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/urls.csv', import.meta.url));

test('the first API job is made and checked as its tutorial says', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'first-api-job-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const [port, site_port] = [await freePort(), await freePort()];
  const own_example = join(folder, 'urls.csv');
  await writeFile(own_example, (await readFile(EXAMPLE, 'utf8')).replaceAll(`:${SAMPLE_PORT}/`, `:${site_port}/`));
  const wrong = await runGuide('docs/tutorials/first-api-job.md', {
    replace: {
      'run -s sample >': `run -s sample -- --port ${site_port} >`,
      '127.0.0.1:8080': `127.0.0.1:${port}`,
      [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site_port}`,
      'examples/urls.csv': own_example,
      '/tmp/url-checker.log': join(folder, 'service.log'),
      '/tmp/sample-site.log': join(folder, 'site.log'),
    },
    env: { PORT: String(port), DATA_DIR: join(folder, 'data') },
  });
  t.is(wrong, null);
});
