// The report as JUnit XML, which CI systems show: a test case for each URL. It is valid against the schema of Apache Ant's reports and
// that of Jenkins' xUnit plugin.
import { VERDICT_MEANINGS, VERDICTS } from '../../events/checks.ts';
import { type Checked, type CheckedUrl, countOf, placeOf } from './checked.ts';
import { escaped } from './markup.ts';
import { reasonOf } from './text.ts';

export function* junitOf(checked: Checked): Generator<string> {
  const { seconds, began_at, fail_on } = checked;
  const listed = checked.only ?? VERDICTS;
  const failing = fail_on.filter((verdict) => listed.includes(verdict));
  const is_skipped = listed.includes('blocked') && !fail_on.includes('blocked');
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  yield `<testsuite name="URLs" package="url-checker" id="0" hostname="localhost" timestamp="${began_at.toISOString().slice(0, 19)}"`;
  yield ` tests="${countOf(checked, listed)}" failures="${countOf(checked, failing)}" errors="0"`;
  yield ` skipped="${is_skipped ? countOf(checked, ['blocked']) : 0}" time="${seconds.toFixed(3)}">\n<properties/>\n`;
  for (const result of checked.results(listed)) yield testCase(result, fail_on.includes(result.verdict));
  yield '<system-out/>\n<system-err/>\n</testsuite>\n</testsuites>\n';
}

function testCase(result: CheckedUrl, fails: boolean): string {
  const { url, verdict, file, response_time_ms } = result;
  const attributes = `name="${escaped(url)}" classname="${escaped(file ?? 'URL')}" time="${((response_time_ms ?? 0) / 1000).toFixed(3)}"`;
  if (fails) return `<testcase ${attributes}>${failure(result)}</testcase>\n`;
  if (verdict === 'blocked') {
    return `<testcase ${attributes}><skipped message="${escaped(`${reasonOf(result)}: ${VERDICT_MEANINGS.blocked}`)}"/></testcase>\n`;
  }
  return `<testcase ${attributes}/>\n`;
}

function failure(result: CheckedUrl): string {
  const { url, verdict, final_url } = result;
  const lines = [placeOf(result), url, final_url !== null && final_url !== url ? `answered by ${final_url}` : null];
  const text = escaped(lines.filter((line) => line !== null).join('\n'));
  return `<failure message="${escaped(reasonOf(result))}" type="${verdict}">${text}</failure>`;
}
