// What the table `urls` is made of: the outcomes of a `URLChecked` with all their fields, and the URLs of a `UrlsListed` with their hosts.
// The log holds both in short forms, whose rules are code.
import { indexesOf, unfold } from '../events/checked-range.ts';
import type { Outcome, URLChecked } from '../events/checks.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { isTemporary, redirectKindOf } from '../events/findings.ts';
import type { UrlsListed } from '../events/job.ts';
import { unfoldRows } from '../events/listed-rows.ts';
import { laterOf } from '../events/unreadable.ts';

/** Types of rows that are no events: they stand beside the events that they are made of. */
export const OUTCOMES = '(outcomes)';
export const LISTING = '(listing)';

/** The type of the events that rows of a type are made of. */
export const eventOf = (row_type: string): string =>
  ({ [OUTCOMES]: 'URLChecked', [LISTING]: 'UrlsListed' })[row_type] ?? row_type;

/** The rows for an event's part in `urls`; most events have none, nor one of a later version. */
export function checkedRows(event: RecordedEvent): { type: string; data: unknown }[] {
  const { type, data } = event;
  if ((type !== 'URLChecked' && type !== 'UrlsListed') || laterOf(event) !== null) return [];
  if (type === 'URLChecked') return [{ type: OUTCOMES, data: outcomesOf(data as URLChecked) }];
  return [{ type: LISTING, data: listingOf(data as UrlsListed) }];
}

/** `which` says for each URL the place of its outcome in `outcomes`, from 1: most URLs of an event share one. */
function outcomesOf(data: URLChecked) {
  const different = new Set(data.differences.map(({ at }) => at));
  const outcomes: object[] = [];
  let usual = 0;
  const which = unfold(data, []).map((outcome, at) => {
    if (different.has(at)) return outcomes.push(wholeOf(outcome));
    usual ||= outcomes.push(wholeOf(outcome));
    return usual;
  });
  const { job_id, response_times_ms } = data;
  return { job_id, indexes: indexesOf(data), response_times_ms, which, outcomes };
}

/** Without URLs, the outcome of a check that was not redirected has the empty text as its last URL. */
const wholeOf = (outcome: Outcome) => ({
  ...outcome,
  temporary: isTemporary(outcome),
  redirect_kind: redirectKindOf(outcome.redirect_statuses),
});

function listingOf({ job_id, from_index, urls, rows }: UrlsListed) {
  return { job_id, from_index, urls, hosts: urls.map(hostOf), rows: rows ? unfoldRows(rows, 0, urls.length) : null };
}

/** A host that the parser leaves as it is: no address, whose last label has a digit. */
const PLAIN_HOST = /^https?:\/\/([a-z0-9.-]*\.[a-z]+)[/?#]/;

/** As the URL parser writes it: lower case, without port, international names as punycode; null for what is no URL. */
function hostOf(url: string): string | null {
  const host = PLAIN_HOST.exec(url)?.[1];
  return host === undefined || host.includes('xn--') ? URL.parse(url)?.hostname || null : host;
}
