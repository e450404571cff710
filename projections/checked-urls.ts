// The URLs of `URLChecked` events, read from the listings of their jobs before a transaction begins.
import { endOf, namesUrls, urlsOf } from '../events/checked-range.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { checksOf } from '../events/streams.ts';
import type { ListedUrls, UrlListing } from '../events/url-listing.ts';
import type { LogEvent } from '../events/vocabulary.ts';

export type Checked = LogEvent<'URLChecked'>;

/** Returns all URLs of an event's range with their rows; fewer when the listing was deleted with its job. */
export type UrlsOf = (event: Checked) => Readonly<ListedUrls>;

const NONE: ListedUrls = { urls: [], rows: [] };

export const isChecked = (event: RecordedEvent): event is Checked => event.type === 'URLChecked';

/** The number of URLs that an event tells of; 0 where its data is damaged, so that a projection that takes it throws. */
export function checkedIn(event: RecordedEvent): number {
  if (!isChecked(event)) return 0;
  try {
    const is_of_stream = event.data.job_id === checksOf(event.stream).job_id;
    return is_of_stream && namesUrls(event.data) ? urlsOf(event.data) : 0;
  } catch {
    return 0;
  }
}

/** Listings that are read at once. */
const JOBS_AT_ONCE = 16;

/** Reads the URLs of all ranges among the events. Rejects with the log's errors. */
export async function readUrls(listing: UrlListing, events: readonly RecordedEvent[]): Promise<UrlsOf> {
  const found = new Map<string, ListedUrls>();
  const jobs = [...Map.groupBy(events.filter(isChecked).filter(checkedIn), ({ data }) => data.job_id)];
  for (let from = 0; from < jobs.length; from += JOBS_AT_ONCE) {
    await Promise.all(
      jobs.slice(from, from + JOBS_AT_ONCE).map(async ([job_id, checked]) => {
        for (const { id, data } of checked) {
          found.set(id, await listing.rangeWithRows(job_id, data.from_index, endOf(data)));
        }
      }),
    );
  }
  return ({ id }) => found.get(id) ?? NONE;
}
