// Applies events to projections, in transactions of the fence. An event at which a projection throws is parked with its
// error: only that projection goes on without it.
import type { Logger } from 'pino';
import type { RecordedEvent, SubscriptionBatch } from '../../events/event-store.ts';
import type { ParkedEventDiscarded } from '../../events/service.ts';
import { isOfStore } from '../../events/store-faults.ts';
import { traced } from '../../events/tracing.ts';
import { EventFromLater, refuseLater } from '../../events/unreadable.ts';
import { type CollectionSpec, type Document, type Inside, TransactionTooLarge } from '../../readmodels/documents.ts';
import { inGeneration, parkedEvents, projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import type { UrlsOf } from '../jobs/checked-urls.ts';
import { isHeavy } from '../parts.ts';
import { DISCARDING, type OpenCollection, type Target } from '../projection.ts';
import { type BesideTurns, type Commit, type FenceChanges, Overtaken } from './fence.ts';
import { type Inserts, insertAhead, insertInside } from './insert.ts';

/** At most this many parked events of a generation are kept; further ones are only counted. */
const MAX_PARKED = 1000;
const MAX_ERROR_CHARS = 2000;

/** Writes the position that a transaction reaches, and returns the changes of the fence. */
export type Reached = (inside: Inside, part: SubscriptionBatch) => Promise<FenceChanges>;

export interface TakeOptions {
  commit: Commit;
  /** Inserts go before the transaction, where nobody reads the targets' documents and the store runs transactions side by side. */
  beside: BesideTurns | null;
  targets: readonly Target[];
  reached: Reached;
  urls_of: UrlsOf;
  logger: Logger;
}

/** A projection threw an error that is not the store's. */
class NotTaken extends Error {
  readonly target: Target;

  constructor(target: Target, cause: unknown) {
    super(`${target.projection.name} could not apply an event`, { cause });
    this.target = target;
  }
}

/** An event of a part is heavy because of documents that are there. */
class HeavyInside extends Error {
  readonly event: RecordedEvent;

  constructor(event: RecordedEvent) {
    super(`${event.type} wants a transaction of its own`);
    this.event = event;
  }
}

/**
 * Applies a part in one transaction. When a projection throws, it applies the halves one after the other, down to the single
 * event that throws, which it parks for this projection and applies to the others. Throws the store's errors.
 */
export function takeEvents(options: TakeOptions, part: SubscriptionBatch): Promise<void> {
  const step = () => ({
    name: 'project',
    kind: 'consumer' as const,
    attributes: { 'event.count': part.events.length, 'log.position': part.position },
    causes: part.events.flatMap(causesOf),
  });
  return traced(step, () => take(options, part));
}

function causesOf(event: RecordedEvent): string[] {
  try {
    return event.metadata.traceparent === undefined ? [] : [event.metadata.traceparent];
  } catch {
    return []; // the metadata is damaged
  }
}

async function take(
  options: TakeOptions,
  part: SubscriptionBatch,
  left_out: ReadonlyMap<Target, unknown> = new Map(),
): Promise<void> {
  const { commit, beside, reached, urls_of, logger } = options;
  const { events, position } = part;
  const targets = options.targets.filter((target) => !left_out.has(target));
  try {
    if (events.length === 1) await clear(commit, targets, events[0]!);
    await commit(async (inside) => {
      if (events.length > 1) await refuseHeavy(targets, events, inside);
      for (const target of targets) await apply(target, events, { inside, beside, urls_of });
      for (const [target, error] of left_out) {
        if (beside) await target.projection.retract?.(events[0]!, openIn(inside, target.generation));
        await park(target, events[0]!, error, inside);
      }
      for (const target of options.targets) await dropDiscarded(target, events, inside);
      return reached(inside, part);
    });
  } catch (error) {
    if (error instanceof HeavyInside) {
      const at = events.indexOf(error.event);
      for (const some of [events.slice(0, at), [error.event]]) {
        if (some.length > 0) await take(options, { events: some, position: some.at(-1)!.position });
      }
      // Without events, the rest still moves the position.
      return take(options, { events: events.slice(at + 1), position });
    }
    const is_too_large = error instanceof TransactionTooLarge;
    if (!(error instanceof NotTaken) && (!is_too_large || events.length === 1)) throw error;
    if (!is_too_large && events.length === 1)
      return take(options, part, new Map([...left_out, [error.target, error.cause]]));
    const half = Math.ceil(events.length / 2);
    await take(options, { events: events.slice(0, half), position: events[half - 1]!.position });
    return take(options, { events: events.slice(half), position });
  }
  for (const [{ projection, generation }, err] of left_out) {
    const { id, type, stream, revision } = events[0]!;
    logger.error(
      { err, projection: projection.name, generation, event: { id, type, stream, revision } },
      'a projection could not apply an event, which is parked; its read model lacks the event until it is rebuilt',
    );
  }
}

const openIn =
  (documents: Inside, generation: number): OpenCollection =>
  <T extends Document>(spec: CollectionSpec<T>) =>
    documents.collection(inGeneration(spec, generation));

async function clear(commit: Commit, targets: readonly Target[], event: RecordedEvent): Promise<void> {
  for (const target of targets) {
    const { projection, generation } = target;
    if (!projection.clear || !(isHeavy(event, [projection]) || projection.mayBeHeavy?.(event))) continue;
    for (let more = true; more; ) {
      await commit(async (inside) => {
        more = await guarded(target, () => projection.clear!(event, openIn(inside, generation)));
        return {};
      });
    }
  }
}

async function refuseHeavy(
  targets: readonly Target[],
  events: readonly RecordedEvent[],
  inside: Inside,
): Promise<void> {
  for (const { projection, generation } of targets) {
    const some = events.filter((event) => projection.mayBeHeavy?.(event));
    const heavy = some.length > 0 && (await projection.findHeavy!(some, openIn(inside, generation)));
    if (heavy) throw new HeavyInside(heavy);
  }
}

async function apply(
  target: Target,
  events: readonly RecordedEvent[],
  { inside, beside, urls_of }: { inside: Inside; beside: BesideTurns | null; urls_of: UrlsOf },
): Promise<void> {
  const { projection, generation } = target;
  const taken = events.filter((event) => projection.types.includes(event.type));
  if (taken.length === 0) return;
  const open = openIn(inside, generation);
  const inserts: Inserts = beside ? insertAhead(beside, generation) : insertInside(open);
  try {
    await guarded(target, async () => {
      for (const event of taken) refuseLater(event);
      await projection.apply(taken, open, urls_of, inserts);
      await inserts.stored();
    });
  } finally {
    await inserts.stored().catch(() => {}); // `guarded` has thrown the first error
  }
}

async function guarded<R>(target: Target, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Overtaken || !isFaultOfEvent(error) ? error : new NotTaken(target, error);
  }
}

const codeOf = (error: unknown) => String(((error ?? {}) as { code?: unknown }).code);

/** Whether the error passes by itself, as a store that is away does. A transaction that is too large stays so. */
export const isPassing = (error: unknown): boolean =>
  codeOf(error) === 'ABORT_ERR' || (isOfStore(error) && codeOf(error) !== 'transaction_too_large');

/**
 * Whether an event caused the error, and not the store, of which another attempt or an operator may mend it. When MongoDB refuses a document,
 * the adapter throws a code of the port; its other errors, such as a missing right, would come for every event.
 */
export function isFaultOfEvent(error: unknown): boolean {
  if (error instanceof EventFromLater) return true;
  const { name } = (error ?? {}) as { name?: unknown };
  const is_of_adapter = codeOf(error) === 'ERR_SQLITE_ERROR' || String(name).startsWith('Mongo');
  return !is_of_adapter && codeOf(error) !== 'ABORT_ERR' && !isOfStore(error);
}

/** The state of a projection inside a transaction, and the collection that has it. */
export async function stateIn(inside: Inside, name: string) {
  const states = await inside.collection(projectionStates);
  return { states, state: projectionState(name, await states.get(name)) };
}

/** Removes the parked events that an operator discarded from those that the read model lacks. */
async function dropDiscarded(target: Target, events: readonly RecordedEvent[], inside: Inside): Promise<void> {
  const { projection, generation, counter } = target;
  for (const event of events) {
    // What other events say is parsed when it is read, or cannot be read.
    if (event.type !== DISCARDING) continue;
    const discarded = readable<ParkedEventDiscarded>(event);
    if (discarded?.projection !== projection.name) continue;
    const parked = await inside.collection(parkedEvents);
    const _id = `${projection.name}/${generation}/${discarded.event_id}`;
    if ((await parked.get(_id)) === null) continue;
    await parked.write([{ delete: _id }]);
    const { states } = await stateIn(inside, projection.name);
    await states.write([{ update: projection.name, set: { $inc: { [counter]: -1 } } }]);
  }
}

/** What the event says; null where it is damaged or of a later version: what it discards then stays parked. */
function readable<Data>(event: RecordedEvent): Data | null {
  try {
    return event.data as Data;
  } catch {
    return null;
  }
}

async function park(target: Target, event: RecordedEvent, error: unknown, inside: Inside): Promise<void> {
  const { projection, generation, counter } = target;
  const { name, version } = projection;
  const { states, state } = await stateIn(inside, name);
  const before = counter === 'parked' ? state.parked : (state.next?.parked ?? 0);
  await states.write([{ update: name, set: { $set: { [counter]: before + 1 } } }]);
  if (before >= MAX_PARKED) return;
  const { id: event_id, type, stream, revision, position } = event;
  const text = String((error as Error | undefined)?.stack ?? error).slice(0, MAX_ERROR_CHARS);
  const later = error instanceof EventFromLater ? { later: error.event } : {};
  const parked = {
    ...{ projection: name, generation, version, event_id, type, stream, revision, position, error: text },
    ...later,
  };
  await (await inside.collection(parkedEvents)).write([
    { replace: { _id: `${name}/${generation}/${event_id}`, ...parked } },
  ]);
}

/** More than the parked events that are kept of all old generations. */
const ALL_PARKED = 10_000;

/** Removes the parked events of the generations before `generation`. */
export async function forgetParked(inside: Inside, projection: string, generation: number): Promise<void> {
  const parked = await inside.collection(parkedEvents);
  const old = await parked.find({ projection, generation: { $lt: generation } }, { limit: ALL_PARKED });
  await parked.write(old.map(({ _id }) => ({ delete: _id })));
}
