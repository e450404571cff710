// The short texts of tools' results: what a model, or its user, has to know of them.
import { ERROR_MEANINGS, VERDICT_MEANINGS, type Verdict } from '../../events/checks.ts';
import type { JobView } from '../jobs/job-view.ts';
import type { ResultView } from '../results/result-view.ts';

export type Verdicts = Readonly<Partial<Record<Verdict, number>>>;

const number = (n: number) => n.toLocaleString('en');
const urls = (n: number) => (n === 1 ? '1 URL' : `${number(n)} URLs`);

/**
 * How many results have each verdict.
 * @example countsOf([{ verdict: 'ok' }, { verdict: 'ok' }]) // { ok: 2 }
 */
export function countsOf(results: readonly { verdict: Verdict }[]): Verdicts {
  const counts: Partial<Record<Verdict, number>> = {};
  for (const { verdict } of results) counts[verdict] = (counts[verdict] ?? 0) + 1;
  return counts;
}

/** What to do about a lack of credits. */
export function toBuy(buy_url: string | null, job_id?: string): string {
  const then = job_id === undefined ? 'call the tool again' : `call resume_job with job_id ${job_id}`;
  return buy_url === null
    ? `Ask the operator of the service for credits, then ${then}.`
    : `Buy credits at ${buy_url}, then ${then}.`;
}

export function jobText(job: JobView, buy_url: string | null): string {
  const { job_id, status, completed_urls, total_urls, pause_reason, failure_reason } = job;
  const done = `${number(completed_urls)} of ${urls(total_urls)} checked`;
  switch (status) {
    case 'processing':
      return `Job ${job_id} is processing: ${done}. Ask get_job in a while.`;
    case 'paused':
      if (pause_reason !== 'credit_ceiling') return `Job ${job_id} is paused (${pause_reason}): ${done}.`;
      return `Job ${job_id} is paused, because the credits are used up: ${done}. ${toBuy(buy_url, job_id)}`;
    case 'failed':
      return `Job ${job_id} has failed (${failure_reason}): ${done}.`;
    default:
      return `Job ${job_id} is ${status}: ${done}.`;
  }
}

/** `shown`: how many results come with it. */
export function checkedText(job: JobView, verdicts: Verdicts, shown: number, buy_url: string | null): string {
  const counts = Object.entries(verdicts).map(([verdict, n]) => `${number(n)} ${verdict}`);
  const known = Object.values(verdicts).reduce((sum, n) => sum + n, 0);
  const others = known > shown ? [`${number(shown)} results are here; get_results has all.`] : [];
  return [jobText(job, buy_url), ...(counts.length > 0 ? [`${counts.join(', ')}.`] : []), ...others].join(' ');
}

export const creditsText = (credits: number, buy_url: string | null): string =>
  `${credits === 1 ? '1 credit is' : `${number(credits)} credits are`} left.${buy_url === null ? '' : ` Buy more at ${buy_url}.`}`;

const ADVICE: Readonly<Record<Verdict, string>> = {
  ok: 'There is nothing to do.',
  redirected: 'Link to the last address when the redirect is for good.',
  broken: 'Correct the link or remove it.',
  soft_404: 'Open it: readers and search engines treat it as a 404.',
  blocked: 'Open it in a browser, and do not remove it for this.',
  unreachable: 'Correct the link or remove it.',
};
const WANTS_LOGIN = 'The page needs a login or refuses programs: look at it in a browser.';
const MAY_PASS = 'The failure may pass: check it again later before you remove anything.';

/** What was found of a URL, what its verdict rests on, and what to do about it. */
export function explanationOf(result: ResultView): string {
  const { url, verdict, status_code, error_code, final_url, redirects, redirect_kind, protection, attempts } = result;
  const answered = status_code === null ? 'It gave no HTTP answer.' : `Its last answer was ${status_code}.`;
  const hops = redirects.map((hop) => `${hop.status_code} to ${hop.url}`).join(', then ');
  const needs_login = verdict === 'broken' && (status_code === 401 || status_code === 403);
  return [
    `${url} is ${verdict}: ${VERDICT_MEANINGS[verdict]}.`,
    error_code === null ? answered : `${answered} The reason is ${error_code}: ${ERROR_MEANINGS[error_code]}.`,
    ...(hops === '' ? [] : [`It redirects (${redirect_kind}): ${hops}.`]),
    ...(hops === '' && final_url !== null && final_url !== url ? [`It leads to ${final_url}.`] : []),
    ...(protection === null ? [] : [`The answer bears the marks of ${protection}.`]),
    ...(result.tls_detail === undefined ? [] : [result.tls_detail]),
    ...(attempts > 1 ? [`It was tried ${attempts} times.`] : []),
    result.temporary ? MAY_PASS : needs_login ? WANTS_LOGIN : ADVICE[verdict],
  ].join(' ');
}
