// The report as Markdown, for the summary that a CI system shows of a job: the counts, and a table of the URLs to look at.
import { VERDICT_MEANINGS, VERDICTS } from '../../events/checks.ts';
import { count } from '../progress.ts';
import { type Checked, countOf, listedIn, placeOf } from './checked.ts';
import { reasonOf } from './text.ts';

/** GitHub takes a summary of up to 1 MiB: a row of the longest URL and place has 3 kB. */
const MOST_ROWS = 300;

export function* markdownOf(checked: Checked): Generator<string> {
  const { fail_on, counts, verdicts } = checked;
  const failing = countOf(checked, fail_on);
  yield `## ${failing === 0 ? 'No URL fails' : `${count(failing)} of ${count(counts.completed_urls)} URLs ${failing === 1 ? 'fails' : 'fail'}`}\n\n`;
  yield '| verdict | URLs | |\n|---|--:|---|\n';
  for (const verdict of VERDICTS) {
    const urls = verdicts[verdict] ?? 0;
    if (urls > 0) yield `| ${verdict} | ${count(urls)} | ${VERDICT_MEANINGS[verdict]} |\n`;
  }
  const listed = listedIn(checked);
  const total = countOf(checked, listed);
  if (total === 0) return;
  yield '\n| where | URL | why |\n|---|---|---|\n';
  let rows = 0;
  for (const result of checked.results(listed)) {
    if (rows++ === MOST_ROWS) break;
    yield `| ${cell(placeOf(result) ?? '')} | ${cell(result.url)} | ${cell(`${result.verdict}: ${reasonOf(result)}`)} |\n`;
  }
  if (total > MOST_ROWS) yield `\nand ${count(total - MOST_ROWS)} more.\n`;
}

/** Code shows a text as it is: no link, picture or HTML comes of it. */
function cell(text: string): string {
  const shown = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
    .replaceAll('|', '\\|');
  if (shown === '') return '';
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `\`${shown}\`` : `${fence} ${shown} ${fence}`;
}
