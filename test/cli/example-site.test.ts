// The example of the project in the terminal: its website runs beside the check, and every verdict is seen.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { readCommand } from '../../cli/check/command.ts';
import { withExampleSite } from '../../cli/check/example-site.ts';
import { openSampleSiteAt, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { VERDICTS } from '../../events/checks.ts';
import { checkWorld } from '../support/check-command.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/urls.csv', import.meta.url));
const with_ = (args: string[], allowed?: string) => withExampleSite(readCommand(args)!, allowed);

test('a check of the example alone may request its website', async (t) => {
  const { command, site } = await with_([EXAMPLE], '10.0.0.0/8');
  await site?.close();
  t.is(command.settings.CHECKER_ALLOW_ADDRESSES, '10.0.0.0/8,127.0.0.1');
  for (const args of [[EXAMPLE, 'https://a.example/'], ['no-such-file.csv'], ['-'], ['--resume']]) {
    const { command: other, site: none } = await with_(args);
    t.deepEqual([other.settings, none], [{}, null]);
  }
});

test('the example shows every verdict', async (t) => {
  const { write, run } = await checkWorld(t);
  const site = (await openSampleSiteAt(0))!;
  t.teardown(site.close);
  const text = (await readFile(EXAMPLE, 'utf8')).replaceAll(`:${SAMPLE_PORT}/`, `:${site.port}/`);
  const { verdicts } = JSON.parse((await run([await write('urls.csv', text), '--json'])).stdout);
  t.deepEqual(Object.keys(verdicts).toSorted(), VERDICTS.toSorted());
});
