// The URLs that intake finds in each kind of list. Prints a row for each kind.
import test from 'ava';
import { collectUrls } from '../../intake/collect-urls.ts';
import { LIST_KINDS, URLS } from './list-kinds.ts';
import { open } from './uploads.ts';

const ROWS: string[] = [];

for (const { kind, filename, content, format, rejected = [] } of LIST_KINDS) {
  test(`exactly the URLs of ${kind} are found`, async (t) => {
    const sheet = await open(t, filename, typeof content === 'function' ? await content() : content);
    const collected = collectUrls(sheet.cells());
    const urls = (await Array.fromAsync(collected)).flat();
    const { accepted, duplicates_removed, invalid_urls_rejected, samples } = collected.summary;
    const found = [accepted, duplicates_removed, invalid_urls_rejected].map((n) => String(n).padStart(4)).join('');
    ROWS.push(`${kind.padEnd(44)}${sheet.format.padEnd(9)}${found}`);
    t.deepEqual(urls.toSorted(), [...URLS]);
    t.is(sheet.format, format);
    t.deepEqual(
      samples.invalid.map(({ value }) => value),
      [...rejected],
    );
  });
}

test.after('the table prints the findings for each kind', (t) => {
  t.log(['kind'.padEnd(44), 'format'.padEnd(9), 'URLs, duplicates, rejected'].join(''));
  for (const row of ROWS.toSorted()) t.log(row);
});
