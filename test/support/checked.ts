// `URLChecked` events of a test's own, and the URLs that the listings of their jobs would have.
import { type CheckedUrl, foldRange } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { UrlsOf } from '../../projections/jobs/checked-urls.ts';

const listed = new WeakMap<object, string[]>();

/** The data of an event of these rows, which follow each other in a batch. */
export function rangeOf(rows: readonly CheckedUrl[]): URLChecked {
  const { job_id, index } = rows[0]!;
  const urls = rows.map(({ url }) => url);
  const outcomes = rows.map(({ job_id: _job, index: _index, url: _url, ...outcome }) => outcome);
  const data = foldRange(job_id, index, urls, outcomes);
  listed.set(data, urls);
  return data;
}

export const listedUrls: UrlsOf = ({ data }) => ({ urls: listed.get(data) ?? [], rows: [] });
