import { readFile } from 'node:fs/promises';
import test from 'ava';
import { PUBLIC_CODES } from '../../http/apis/public.ts';
import { runDemoGuide } from '../support/demo-guide.ts';
import { testWith } from '../support/programs.ts';

testWith(
  'bash',
  'curl',
  'python3',
)('the public API is as its guide says, line by line, from the shell, Python and JavaScript', async (t) => {
  // As the demo starts it.
  const settings = { TRIAL_CREDITS: '50000', RATE_LIMIT_PER_MINUTE: '60', RATE_LIMIT_PER_DAY: '10000' };
  t.is(await runDemoGuide('docs/guides/api.md', settings), null);
});

test('the guide of the public API has a row for every code of an error, with its statuses', async (t) => {
  const rows = [...(await readFile('docs/guides/api.md', 'utf8')).matchAll(/^\| ([\d, ]+) \| `(\w+)` \| .+ \|$/gm)];
  const said = rows.flatMap(([, statuses, code]) => statuses!.split(', ').map((status) => `${status} ${code}`));
  const listed = Object.entries(PUBLIC_CODES).flatMap(([status, codes]) => codes.map((code) => `${status} ${code}`));
  t.deepEqual(said.sort(), listed.sort());
});
