// The page on verdicts keeps up with the code: every verdict, error code and protection has its place.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { PROTECTIONS } from '../../checkers/engine/protection.ts';
import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { ERROR_CODES, VERDICTS } from '../../events/checks.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/guides/verdicts.md'), 'utf8');

testWith('bash')('the commands of the page print what it says', async (t) => {
  const site = await openSampleSite();
  try {
    const replace = { [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}` };
    t.is(await runGuide('docs/guides/verdicts.md', { replace }), null);
  } finally {
    await site.close();
  }
});

/** What the first column of the table after this heading names; each row says what it means and what to do. */
function rowsOf(heading: string): string[] {
  const table = text.slice(text.indexOf(`| ${heading} |`)).split('\n\n')[0]!;
  return [...table.matchAll(/^\| `(\w+)` \| \S.* \| \S.* \|$/gm)].map((row) => row[1]!);
}

test('the guide has a row for every verdict', (t) => t.deepEqual(rowsOf('verdict'), [...VERDICTS]));

test('the guide has a row for every error code', (t) => t.deepEqual(rowsOf('error code'), [...ERROR_CODES]));

test('the guide names every protection', (t) => {
  const section = /^## Bot protection.*?(?=^## )/ms.exec(text)![0];
  t.deepEqual(
    PROTECTIONS.filter((name) => !section.includes(`\`${name}\``)),
    [],
  );
});
