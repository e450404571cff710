// One table names the formats; what cannot import it says the same.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { FORMATS, LIST_ENDINGS, listOfFormats, SHEET_FORMATS } from '../../intake/formats.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the console offers the files that the service reads', (t) => {
  const offered = [...read('web/pages/new-job/page.tsx').matchAll(/\.([a-z]+)(?=[,'])/g)].map((match) => match[1]!);
  t.deepEqual([...new Set(offered)].filter((ending) => LIST_ENDINGS.includes(ending)).sort(), [...LIST_ENDINGS].sort());
});

test('each format is named once, in the list that helps and errors show', (t) => {
  for (const format of SHEET_FORMATS) t.true(listOfFormats().includes(FORMATS[format].name), format);
});
