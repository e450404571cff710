import { readFile } from 'node:fs/promises';
import { delimiter, dirname } from 'node:path';
import test from 'ava';
import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { PUBLIC_CODES } from '../../http/apis/public.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith(
  'bash',
  'curl',
  'python3',
)('the public API is as its guide says, line by line, from the shell, Python and JavaScript', async (t) => {
  const site = await openSampleSite();
  // As the demo starts it.
  const service = await startTestService({
    TRIAL_CREDITS: '50000',
    RATE_LIMIT_PER_MINUTE: '60',
    RATE_LIMIT_PER_DAY: '10000',
  });
  try {
    const replace = {
      '127.0.0.1:8080': new URL(service.url).host,
      [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}`,
      'data/demo': service.data_dir,
    };
    // `node` is the one that runs this.
    const env = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
    t.is(await runGuide('docs/guides/api.md', { replace, env }), null);
  } finally {
    await service.stop();
    await site.close();
  }
});

test('the guide of the public API has a row for every code of an error, with its statuses', async (t) => {
  const rows = [...(await readFile('docs/guides/api.md', 'utf8')).matchAll(/^\| ([\d, ]+) \| `(\w+)` \| .+ \|$/gm)];
  const said = rows.flatMap(([, statuses, code]) => statuses!.split(', ').map((status) => `${status} ${code}`));
  const listed = Object.entries(PUBLIC_CODES).flatMap(([status, codes]) => codes.map((code) => `${status} ${code}`));
  t.deepEqual(said.sort(), listed.sort());
});
