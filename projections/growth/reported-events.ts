// The read model of what agencies and the console reported. The events of a user go with the user's erasure. Decision 58 says why.
import { idOf } from '../../events/streams.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import type { Write } from '../../readmodels/documents.ts';
import { type ReportedEventDocument, reportedEvents } from '../../readmodels/growth/reported-events.ts';
import { type Projection, projection } from '../projection.ts';
import { writeAll } from '../slices.ts';

/** Written at once in the end, in order. */
type Page = Write<ReportedEventDocument>[];

export const reportedEventsProjection: Projection = projection({
  name: 'intake',
  version: 1,
  collections: [reportedEvents],
  covers: ['intake'],
  begin: (): Page => [],
  on: {
    AgencyEventReceived: ({ data: { event_id: _id, ...data }, metadata: { at: received_at } }, page) =>
      void page.push({ replace: { _id, kind: 'agency', user_id: null, ...data, received_at } }),
    PaywallEventReceived: ({ data: { event_id: _id, ...data }, metadata: { at: received_at } }, page) =>
      void page.push({ replace: { _id, kind: 'paywall', agency_id: null, occurred_at: null, ...data, received_at } }),
    UserErased: removeEvents,
    // A request that had begun before the erasure may have reported something after it.
    UserForgotten: removeEvents,
  },
  async end(page, open) {
    await writeAll(await open(reportedEvents), page);
  },
});

function removeEvents({ stream }: LogEvent, page: Page): void {
  page.push({ deleteMany: { user_id: idOf(stream) } });
}
