// The read model of work over two streams that has its first event alone, for the sweeper. What begins and ends it is declared with the work.
import { type HalfDone, SWEPT_WORK, typesOf, WORK } from '../../events/two-streams.ts';
import type { EventType, LogEvent } from '../../events/vocabulary.ts';
import type { Write } from '../../readmodels/documents.ts';
import { type PendingDocument, pending } from '../../readmodels/jobs/pending.ts';
import { type Projection, projection } from '../projection.ts';

/** Only the last write of each document: one page often holds all steps of a job. */
type Page = Map<string, Write<PendingDocument>>;
type Side<Said> = Readonly<Partial<Record<EventType, (event: LogEvent) => Said | null>>>;

const TYPES = new Set(SWEPT_WORK.flatMap((kind) => [...typesOf(kind, 'first'), ...typesOf(kind, 'second')]));

export const pendingProjection: Projection = projection({
  name: 'pending',
  version: 2,
  collections: [pending],
  begin: (): Page => new Map(),
  on: Object.fromEntries([...TYPES].map((type) => [type, take])) as Record<EventType, typeof take>,
  end: async (writes, open) => (await open(pending)).write([...writes.values()]),
});

/** An event may begin work of one kind and end that of others. */
function take(event: LogEvent, writes: Page): void {
  const { type, stream, metadata } = event;
  for (const kind of SWEPT_WORK) {
    const begun = (WORK[kind].first as Side<HalfDone>)[type]?.(event);
    const ended = (WORK[kind].second as Side<string>)[type]?.(event);
    const id = begun?.id ?? ended;
    if (id == null) continue;
    const _id = `${kind}:${id}`;
    writes.set(_id, begun ? { replace: { _id, kind, ...begun, first: stream, since: metadata.at } } : { delete: _id });
  }
}
