// The read model of what agencies and the console reported. The events of a user go with the user's erasure.
import { idOf } from '../events/streams.ts';
import type { LogEvent } from '../events/vocabulary.ts';
import type { Collection } from '../readmodels/documents.ts';
import { type IntakeDocument, intakeEvents } from '../readmodels/intake.ts';
import { type Projection, projection } from './projection.ts';

type Page = Collection<IntakeDocument>;

export const intakeProjection: Projection = projection({
  name: 'intake',
  version: 1,
  collections: [intakeEvents],
  covers: ['intake'],
  begin: (open) => open(intakeEvents),
  on: {
    AgencyEventReceived: ({ data: { event_id: _id, ...data }, metadata: { at: received_at } }, documents: Page) =>
      documents.write([{ replace: { _id, kind: 'agency', user_id: null, ...data, received_at } }]),
    PaywallEventReceived: ({ data: { event_id: _id, ...data }, metadata: { at: received_at } }, documents: Page) =>
      documents.write([
        { replace: { _id, kind: 'paywall', agency_id: null, occurred_at: null, ...data, received_at } },
      ]),
    UserErased: removeEvents,
    // A request that had begun before the erasure may have reported something after it.
    UserForgotten: removeEvents,
  },
});

function removeEvents({ stream }: LogEvent, documents: Page): Promise<void> {
  return documents.write([{ deleteMany: { user_id: idOf(stream) } }]);
}
