// The read model of the audit trail.
import { idOf } from '../../events/streams.ts';
import type { EventType, LogEvent } from '../../events/vocabulary.ts';
import type { Collection } from '../../readmodels/documents.ts';
import { auditTrail, TRAIL_TYPES, type TrailEntry, trailEntryOf } from '../../readmodels/users/audit-trail.ts';
import { type Projection, projection } from '../projection.ts';
import { replaceAll, writeAll } from '../slices.ts';

interface Page {
  entries: TrailEntry[];
  /** The users whose earlier entries lose their reasons. */
  erased: Set<string>;
}

function enter(event: LogEvent, { entries }: Page): void {
  const entry = trailEntryOf(event);
  if (entry) entries.push(entry);
}

/** A request that had begun before the erasure may have made an entry after it, so the reasons go at its end as well. */
function forget(event: LogEvent<'UserErased' | 'UserForgotten'>, page: Page): void {
  const user_id = idOf(event.stream);
  page.erased.add(user_id);
  page.entries = page.entries.map((entry) => (entry.user_id === user_id ? { ...entry, reason: null } : entry));
  enter(event, page);
}

const entered = Object.fromEntries(TRAIL_TYPES.map((type) => [type, enter]));

export const auditTrailProjection: Projection = projection<EventType, Page>({
  name: 'audit',
  version: 1,
  collections: [auditTrail],
  begin: () => ({ entries: [], erased: new Set() }),
  on: { ...entered, UserErased: forget, UserForgotten: forget } as Record<
    EventType,
    (event: LogEvent, page: Page) => void
  >,
  async end({ entries, erased }, open) {
    const trail = await open(auditTrail);
    for (const user_id of erased) await dropReasons(trail, user_id);
    await replaceAll(trail, entries);
  },
});

async function dropReasons(trail: Collection<TrailEntry>, user_id: string): Promise<void> {
  const said = (await Array.fromAsync(trail.stream({ user_id }))).filter(({ reason }) => reason !== null);
  await writeAll(
    trail,
    said.map(({ _id }) => ({ update: _id, set: { $set: { reason: null } } })),
  );
}
