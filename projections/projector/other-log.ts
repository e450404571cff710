// Decides whether the documents came from this log. A replaced log has another id. A log restored from a backup has the same
// id, but it ends before the documents' checkpoint, or has another event at the place of their last one.
import type { Logger } from 'pino';
import { BEGINNING, type EventStore, type Position } from '../../events/event-store.ts';
import { categoryOf, checksOf, jobStream } from '../../events/streams.ts';
import { EventFromLater } from '../../events/unreadable.ts';
import type { Inside } from '../../readmodels/documents.ts';
import {
  followerOf,
  type ProjectorState,
  projectionState,
  projectionStates,
  withoutNext,
} from '../../readmodels/projection-state.ts';
import type { Fence } from './fence.ts';

interface Adoption {
  log: EventStore;
  log_id: () => Promise<string>;
  fence: Fence;
  /** The event types that the projections handle. */
  types: readonly string[];
  logger: Logger;
}

/** Read models of an empty log, which a projector has vouched for, only lag behind its first events; what comes of more is built unread, which is faster. */
const FEW_EVENTS = 1000;

/** Compares the documents with the log. When they came from another one, or their state is lost, it retires all of them, to be rebuilt. */
export async function adoptLog({ log, log_id, fence, types, logger }: Adoption): Promise<void> {
  const id = await log_id();
  const lost = lostState(fence.state);
  if (lost !== null) logger.warn({ reason: lost }, 'documents are lost; the projector rebuilds them from the log');
  const other = lost === null ? await otherLog(log, fence.state, id) : null;
  if (other !== null)
    logger.warn({ reason: other }, 'the documents came from another log; the projector rebuilds them from this one');
  const why = lost ?? other;
  const { state } = fence;
  // An earlier projector may have inserted documents of any event in the log: incomplete ones catch up with all.
  const is_incomplete =
    why !== null ||
    state.catching_up_to !== null ||
    (state.checkpoint === BEGINNING && (state.log_id !== id || (await hasEvents(log, BEGINNING, types, FEW_EVENTS))));
  const catching_up_to = is_incomplete && (await hasEvents(log, BEGINNING, types)) ? await log.head() : null;
  if (!is_incomplete && state.log_id === id) return;
  await fence.inTurn((commit) =>
    commit(async (inside) => {
      if (why === null) return { log_id: id, ...(is_incomplete && { catching_up_to }) };
      await retireAll(inside, fence);
      return { log_id: id, checkpoint: BEGINNING, generations: {}, last_event: null, catching_up_to };
    }),
  );
}

/** Returns what somebody has dropped of the state of a projector that has just begun, beside documents that are still there; null for nothing. */
function lostState({ _id, epoch, checkpoint, generations }: ProjectorState): string | null {
  const is_built = Object.keys(generations).some((name) => followerOf(name) === _id);
  if (is_built && epoch === 1) return 'the checkpoint is missing';
  return !is_built && checkpoint !== BEGINNING ? 'the states of the projections are missing' : null;
}

async function retireAll(inside: Inside, { state: { _id: follower } }: Fence): Promise<void> {
  const states = await inside.collection(projectionStates);
  for (const stored of await states.find({})) {
    if (followerOf(stored._id) !== follower) continue;
    const state = projectionState(stored._id, stored);
    const { retired } = withoutNext(state);
    const { generation, collections } = state;
    const old = generation > 0 ? [{ generation, collections }] : [];
    const nothing = { version: 0, generation: 0, parked: 0, next: null, failed: null, rebuild: false };
    await states.write([{ replace: { ...state, ...nothing, retired: [...retired, ...old] } }]);
  }
}

/** Notes that new documents are complete, once they have caught up or the log has no more events for them. Nothing is inserted beside. */
export async function endCatchingUp({ log, fence, types }: Pick<Adoption, 'log' | 'fence' | 'types'>): Promise<void> {
  const { checkpoint, catching_up_to } = fence.state;
  if (checkpoint < catching_up_to! && (await hasEvents(log, checkpoint, types))) return;
  await fence.inTurn((commit) => commit(async () => ({ catching_up_to: null })));
}

/** Whether the log has more than so many such events after the position. */
export async function hasEvents(log: EventStore, from: Position, types: readonly string[], than = 0): Promise<boolean> {
  let events = 0;
  for await (const _ of log.readAll({ from, filter: { types }, limit: than + 1 })) events++;
  return events > than;
}

/** Whether a stream may be deleted without an event that says so. */
export const isRemovable = (stream: string) => categoryOf(stream) === 'urls';

/** Returns why the documents cannot have come from this log; null when they can. */
export async function otherLog(log: EventStore, state: ProjectorState, log_id: string): Promise<string | null> {
  if (state.log_id !== '' && state.log_id !== log_id) return 'the log has another id';
  if (state.checkpoint > (await log.head())) return "the log ends before the documents' checkpoint";
  const { last_event } = state;
  if (!last_event) return null;
  const { stream, revision } = last_event;
  for await (const event of log.readStream(stream, { from: revision, limit: 1, known_id: last_event.id })) {
    const is_same = event.id === last_event.id && event.position === last_event.position;
    return is_same ? null : `the log has another event as ${stream} ${revision}`;
  }
  return (await wasPurged(log, stream)) ? null : `the log has no ${stream} ${revision}`;
}

/** Whether the stream held results that a purge removes from the log, because their job is deleted or they expired. */
async function wasPurged(log: EventStore, stream: string): Promise<boolean> {
  if (categoryOf(stream) !== 'checks') return false;
  try {
    for await (const { type } of log.readStream(jobStream(checksOf(stream).job_id)))
      if (type === 'JobDeleted' || type === 'ResultsExpired') return true;
    return false;
  } catch (error) {
    // What a later version appended to the job may have said so.
    if (error instanceof EventFromLater) return true;
    throw error;
  }
}
