// The compact form of a range's outcomes in a `URLChecked`, and back: an outcome for each URL that the event tells of.
import type { Outcome, URLChecked } from './checks.ts';
import { maskOf, placesOf } from './url-mask.ts';

/** A row for each URL: the outcome with the URL and its index in the job. */
export interface CheckedUrl extends Outcome {
  job_id: string;
  index: number;
  url: string;
}

/** What a field of `usual` is when the event leaves it out. */
const USUAL = {
  status_code: 200,
  is_broken: false,
  is_soft_404: false,
  content_type: null,
  error_code: null,
  verdict: 'ok',
  protection: null,
  attempts: 1,
} as const satisfies Partial<Outcome>;

type Shared = Required<Omit<URLChecked['usual'], 'proxy_id'>>;
type Difference = URLChecked['differences'][number];
const SHARED = Object.keys(USUAL) as (keyof Shared)[];
/** Optional fields that few outcomes have. */
const RARE = ['redirect_statuses', 'meta_refresh', 'tls_detail', 'tried_ms', 'by_circuit', 'earlier_attempts'] as const;
const proxyOf = ({ proxy_id = null }: Pick<Outcome, 'proxy_id'>) => proxy_id;

/**
 * Makes the event's data of the outcomes of a range of URLs, the first at `from_index`. URLs without an outcome are left out; the
 * first and the last have one.
 */
export function foldRange(
  job_id: string,
  from_index: number,
  urls: readonly string[],
  outcomes: readonly (Outcome | undefined)[],
): URLChecked {
  const known: Outcome[] = [];
  const places: number[] = [];
  for (const [place, outcome] of outcomes.entries()) {
    if (outcome === undefined) continue;
    known.push(outcome);
    places.push(place);
  }
  const most = mostFrequent(known);
  const usual: Record<string, unknown> = {};
  for (const field of SHARED) if (most[field] !== USUAL[field]) usual[field] = most[field];
  if (proxyOf(most) !== null) usual.proxy_id = most.proxy_id;
  const differences = known.flatMap((outcome, at) => differenceOf(outcome, most, at, urls[places[at]!]!) ?? []);
  const response_times_ms = known.map(({ response_time_ms }) => response_time_ms);
  const mask = known.length < outcomes.length ? { mask: maskOf(places) } : {};
  return { job_id, from_index, ...mask, response_times_ms, usual, differences };
}

/** Returns an outcome whose shared fields are the most frequent ones together. */
function mostFrequent(outcomes: readonly Outcome[]): Outcome {
  const counts = new Map<string, number>();
  let [most, most_count] = [outcomes[0]!, 0];
  for (const outcome of outcomes) {
    // These fields tell almost all outcomes apart.
    const { status_code, verdict, error_code, content_type } = outcome;
    const key = `${status_code} ${verdict} ${error_code} ${content_type}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > most_count) [most, most_count] = [outcome, count];
  }
  return most;
}

function differenceOf(outcome: Outcome, usual: Outcome, at: number, url: string): Difference | null {
  const { final_url, redirect_chain } = outcome;
  const different: Record<string, unknown> = {};
  let is_different = false;
  const add = (field: keyof Outcome) => {
    different[field] = outcome[field];
    is_different = true;
  };
  for (const field of SHARED) if (outcome[field] !== usual[field]) add(field);
  if (redirect_chain.length > 0) add('redirect_chain');
  if (final_url !== usualFinalUrl(outcome, url)) add('final_url');
  for (const field of RARE) if (outcome[field] !== undefined) add(field);
  if (proxyOf(outcome) !== proxyOf(usual)) {
    different.proxy_id = proxyOf(outcome);
    is_different = true;
  }
  return is_different ? { at, ...different } : null;
}

/** The last redirect's target; without a redirect, the URL itself; without an answer, null. */
export const usualFinalUrl = (
  { status_code, redirect_chain }: Pick<Outcome, 'status_code' | 'redirect_chain'>,
  url: string,
) => (status_code === null ? null : (redirect_chain.at(-1) ?? url));

/** The number of URLs that the event tells of. */
export const urlsOf = ({ response_times_ms }: URLChecked): number => response_times_ms.length;

/** The number of broken URLs among them. */
export function brokenOf(data: URLChecked): number {
  const { is_broken: usual = USUAL.is_broken } = data.usual;
  const different = data.differences.filter(({ is_broken = usual }) => is_broken !== usual).length;
  return usual ? urlsOf(data) - different : different;
}

/** The places in the range of the URLs that the event tells of, in order; null for all of them. */
const placesIn = ({ mask }: Pick<URLChecked, 'mask'>): readonly number[] | null =>
  mask === undefined ? null : placesOf(mask);

/** The index in the job after the event's last URL. */
export const endOf = (data: URLChecked): number => data.from_index + (placesIn(data)?.at(-1) ?? urlsOf(data) - 1) + 1;

/** The indexes in the job of the event's URLs, in order. */
export function indexesOf(data: URLChecked): number[] {
  const { from_index } = data;
  return (
    placesIn(data)?.map((place) => from_index + place) ?? Array.from({ length: urlsOf(data) }, (_, n) => from_index + n)
  );
}

/** Whether data that may be damaged says which URLs it tells of. */
export function namesUrls({
  from_index,
  response_times_ms,
  mask,
}: Readonly<Partial<Record<keyof URLChecked, unknown>>>): boolean {
  if (!Number.isSafeInteger(from_index) || (from_index as number) < 0 || !Array.isArray(response_times_ms))
    return false;
  return mask === undefined || (typeof mask === 'string' && placesOf(mask).length === response_times_ms.length);
}

/**
 * Returns a row for each URL of the event. `urls` are the URLs of the whole range, from the job's `UrlsListed`; one that is missing,
 * because the listing was deleted with its job, is the empty text.
 */
export function unfold(data: URLChecked, urls: readonly string[]): CheckedUrl[] {
  const { job_id, from_index, response_times_ms, usual, differences } = data;
  const places = placesIn(data);
  const { proxy_id, ...rest } = usual;
  const shared: Shared = { ...USUAL, ...rest };
  let next = 0;
  return response_times_ms.map((response_time_ms, at) => {
    const place = places?.[at] ?? at;
    const url = urls[place] ?? '';
    const row: CheckedUrl = {
      job_id,
      index: from_index + place,
      url,
      status_code: shared.status_code,
      final_url: null,
      is_broken: shared.is_broken,
      is_soft_404: shared.is_soft_404,
      redirect_chain: [],
      response_time_ms,
      content_type: shared.content_type,
      error_code: shared.error_code,
      verdict: shared.verdict,
      protection: shared.protection,
      attempts: shared.attempts,
    };
    if (proxy_id !== undefined) row.proxy_id = proxy_id;
    const difference = differences[next];
    if (difference?.at !== at) {
      row.final_url = row.status_code === null ? null : url;
      return row;
    }
    next++;
    const { at: _, ...different } = difference;
    Object.assign(row, different);
    if (row.proxy_id === null) delete row.proxy_id;
    if (different.final_url === undefined) row.final_url = usualFinalUrl(row, url);
    return row;
  });
}
