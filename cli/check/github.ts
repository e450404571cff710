// The report as workflow commands of GitHub Actions, which it shows at the line of the file: an error for each URL that makes the check
// fail, a warning for each blocked one.
import { relative, resolve } from 'node:path';
import { count } from '../progress.ts';
import { type Checked, type CheckedUrl, countOf, listedIn, STDIN_NAME } from './checked.ts';
import { reasonOf } from './text.ts';

export function* githubOf(checked: Checked): Generator<string> {
  const { fail_on, counts } = checked;
  for (const result of checked.results(listedIn(checked))) {
    yield command(
      fail_on.includes(result.verdict) ? 'error' : result.verdict === 'blocked' ? 'warning' : 'notice',
      result,
    );
  }
  yield `${count(counts.completed_urls)} of ${count(counts.total_urls)} URLs checked, ${count(countOf(checked, fail_on))} failing\n`;
}

function command(kind: 'error' | 'warning' | 'notice', result: CheckedUrl): string {
  const { file, row, verdict, url } = result;
  const place = file === null || file === STDIN_NAME ? [] : [`file=${property(inRepository(file))}`, `line=${row}`];
  const properties = [...place, `title=${property(`${verdict}: ${reasonOf(result)}`)}`];
  return `::${kind} ${properties.join(',')}::${data(url)}\n`;
}

/** GitHub wants paths relative to the repository's root. */
function inRepository(file: string): string {
  const root = process.env.GITHUB_WORKSPACE;
  return root ? relative(root, resolve(file)) : file;
}

/** GitHub decodes no more than these. */
const data = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string) => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
