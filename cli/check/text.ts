// The report that people read: the dead links and why they are dead, then the counts.
import type { styleText } from 'node:util';
import { ERROR_MEANINGS, type ErrorCode, VERDICT_MEANINGS, VERDICTS, type Verdict } from '../../events/checks.ts';
import { isTemporary } from '../../events/findings.ts';
import { INVALID_REASONS } from '../../intake/classify-url.ts';
import { count } from '../progress.ts';
import {
  type Checked,
  type CheckedUrl,
  type Counts,
  countOf,
  isInterrupted,
  placeOf,
  type Rejected,
  withoutControls,
} from './checked.ts';
import { DEAD, inSection, SHOWN, VERDICT_CHARS } from './verdict-sets.ts';

type Style = Parameters<typeof styleText>[0];
/** Colours a text, or returns it as it is. */
export type Paint = (style: Style, text: string) => string;

export const plain: Paint = (_style, text) => text;

const REASONS: Record<ErrorCode, string> = {
  ...ERROR_MEANINGS,
  blocked_address: 'a private address, see --allow-address',
};

/** Texts without a URL, of which the report shows the first. */
const REJECTED_SHOWN = 5;

/** A section lists the results of its verdicts. Without `--only` there are the sections of `is_usual`. */
interface Section {
  title: string;
  verdicts: readonly Verdict[];
  mark: string;
  is_usual: boolean;
}

export const SECTIONS: readonly Section[] = [
  { title: 'Dead', verdicts: DEAD, mark: '✗', is_usual: true },
  {
    title: 'Blocked: bot protection answered, so they are possibly alive',
    verdicts: inSection('blocked'),
    mark: '?',
    is_usual: true,
  },
  { title: 'Redirected', verdicts: inSection('redirected'), mark: '→', is_usual: false },
  { title: 'OK', verdicts: inSection('ok'), mark: '✓', is_usual: false },
];

/** Why a URL has its verdict, in a few words. */
export function reasonOf(result: Pick<CheckedUrl, 'verdict' | 'status_code' | 'error_code' | 'final_url'>): string {
  const { verdict, status_code, error_code } = result;
  const { reason: reasonFor } = SHOWN[verdict];
  if (reasonFor) return reasonFor(result);
  const reason = error_code && (REASONS[error_code] ?? error_code);
  return [status_code, reason].filter(Boolean).join(', ') || verdict;
}

export type ReportedUrl = Pick<
  CheckedUrl,
  'url' | 'verdict' | 'status_code' | 'error_code' | 'final_url' | 'file' | 'row' | 'attempts' | 'tried_ms'
>;

/** Of a failure that may pass: how often and over what time it was tried. */
function mayPass(result: ReportedUrl): string | null {
  if (!isTemporary(result)) return null;
  const { attempts, tried_ms = 0 } = result;
  return attempts > 1 ? `may pass: tried ${attempts} times in ${(tried_ms / 1000).toFixed(1)} s` : 'may pass';
}

/** What the report needs of a check. */
export interface Reported extends Pick<Checked, 'counts' | 'verdicts' | 'seconds' | 'only' | 'rejected'> {
  results(verdicts: readonly Verdict[]): Iterable<ReportedUrl>;
}

export function* textOf(checked: Reported, paint: Paint): Generator<string> {
  const { counts, only, seconds } = checked;
  for (const { title, verdicts, mark, is_usual } of SECTIONS) {
    const wanted = only === null ? (is_usual ? verdicts : []) : verdicts.filter((one) => only.includes(one));
    if (countOf(checked, wanted) === 0) continue;
    yield `\n${paint('bold', title)}\n`;
    for (const result of checked.results(wanted)) {
      yield `  ${paint(SHOWN[result.verdict].style, mark)} ${withoutControls(result.url)}\n`;
      const why = [reasonOf(result), mayPass(result), placeOf(result)].filter(Boolean).join(' · ');
      yield `      ${paint('gray', withoutControls(why))}\n`;
    }
  }
  const { completed_urls, cached_urls = 0 } = counts;
  const requested = completed_urls - cached_urls;
  const rate = seconds > 0 ? ` (${count(Math.round(requested / seconds))} URL/s)` : '';
  const of_all = isInterrupted(checked) ? ` of ${count(counts.total_urls)}` : '';
  const urls = of_all === '' && requested === 1 ? 'URL' : 'URLs';
  const cached = cached_urls === 0 ? '' : `, ${count(cached_urls)} taken from the cache`;
  yield `\n${paint('bold', `${count(requested)}${of_all} ${urls} checked in ${seconds.toFixed(1)} s${rate}${cached}`)}\n`;
  yield* dropped(counts, checked.rejected, paint);
  yield '\n';
  for (const verdict of VERDICTS) {
    const n = countOf(checked, [verdict]);
    const name = paint(SHOWN[verdict].style, verdict.padEnd(VERDICT_CHARS));
    if (n > 0) yield `  ${name}${count(n).padStart(9)}   ${VERDICT_MEANINGS[verdict]}\n`;
  }
}

function* dropped(counts: Counts, rejected: readonly Rejected[], paint: Paint): Generator<string> {
  const parts = [
    [counts.duplicates_removed, 'duplicate', 'duplicates'],
    [counts.invalid_urls_rejected, 'row without a URL', 'rows without a URL'],
    [counts.blocked_urls_skipped, 'URL of a blocklisted domain', 'URLs of blocklisted domains'],
  ] as const;
  const said = parts.filter(([n]) => n > 0).map(([n, one, more]) => counted(n, one, more));
  if (said.length > 0) yield `${paint('gray', `not checked: ${said.join(', ')}`)}\n`;
  for (const one of rejected.slice(0, REJECTED_SHOWN)) {
    yield `  ${paint('gray', rejectedText(one))}\n`;
  }
  const more = counts.invalid_urls_rejected - REJECTED_SHOWN;
  if (rejected.length > 0 && more > 0) yield `  ${paint('gray', `and ${count(more)} more, see --json`)}\n`;
}

export const rejectedText = ({ file, row, value, reason }: Rejected): string =>
  withoutControls(`${placeOf({ file, row })} ${JSON.stringify(value)} ${INVALID_REASONS[reason]}`);

const counted = (n: number, one: string, more: string) => `${count(n)} ${n === 1 ? one : more}`;
