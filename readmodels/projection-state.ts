// The projector's state: its checkpoint, and the live generation of each collection. A rebuild fills a new generation beside
// the live one, then flips. Only the projector writes these documents; see `projections/projector/fence.ts`.
import { BEGINNING, type Position } from '../events/event-store.ts';
import type { LaterEvent } from '../events/unreadable.ts';
import type { CollectionSpec, Document, Documents } from './documents.ts';

/** One for each projection. */
export interface ProjectionState extends Document {
  /** The version of the projection that built the live generation; 0 before the first build. */
  version: number;
  /** The live generation; 0 before the first build. No number is used twice. */
  generation: number;
  /** The collections' names, so that a reader finds the generation of a collection. */
  collections: string[];
  /** The identities of the collections of the live generation and of the one that a build fills, by name with generation. */
  identities: { [collection: string]: string };
  /** The number of events that the live generation lacks, because the projection threw at them. */
  parked: number;
  /** The generation that a build is filling, and its checkpoint. `builders`: those that began since the checkpoint moved last. */
  next: { version: number; generation: number; checkpoint: Position; parked: number; builders?: string[] } | null;
  /** Why the build of a version waits for an operator, who asks for a rebuild. */
  failed: { version: number; reason: string } | null;
  /** Earlier generations, kept for readers that began in them. New reads use the live one. */
  retired: { generation: number; collections: string[] }[];
  /**
   * The types of events that every projector which wrote the live generation has taken. One that takes more rebuilds it when the log has
   * such events. Null of generations of earlier versions.
   */
  types: string[] | null;
  /** An operator has requested a rebuild. */
  rebuild: boolean;
  /** Before the next flip, the documents of both generations are to be compared. */
  verify: boolean;
  /** What the comparison before the last flip found; null without one. */
  verified: Comparison | null;
}

/** A document of the live generation that is not as the rebuilt one has it. */
export interface Difference {
  collection: string;
  id: string;
  /** `surplus`: only the live generation has it; `missing`: only the rebuilt one has it. */
  kind: 'changed' | 'missing' | 'surplus';
  /** The fields that differ, of a changed document. */
  fields: string[];
}

/** The documents of a live generation, compared with those that were made of the same events anew. */
export interface Comparison {
  /** Both had applied the log up to here when the comparison ended. */
  position: Position;
  /** Documents of the rebuilt generation. */
  documents: number;
  differing: number;
  /** The first ones. */
  differences: Difference[];
}

/** The last event in the documents: a log without it is not the log that the documents came from. */
export interface LastEvent {
  id: string;
  stream: string;
  revision: number;
  position: Position;
}

/** The fence: one for each follower of the log. Every transaction of a projector compares the whole document and writes it anew. */
export interface ProjectorState extends Document {
  /** `_id` is the follower. All its live projections have applied the events up to this position. */
  checkpoint: Position;
  /** Raised by each projector that begins. */
  epoch: number;
  /** Raised by each transaction of an epoch. */
  turn: number;
  /** The live generation, by projection. */
  generations: { [projection: string]: number };
  /** The id of the log that the documents came from; empty before the first projector has read it. */
  log_id: string;
  last_event: LastEvent | null;
  /** The documents are being built from the beginning of the log and are incomplete before this position; null otherwise. */
  catching_up_to: Position | null;
}

/** An event at which a projection threw, with the error. */
export interface ParkedEvent extends Document {
  projection: string;
  generation: number;
  version: number;
  event_id: string;
  type: string;
  stream: string;
  revision: number;
  position: Position;
  error: string;
  /** What the projector could not read yet: one that can builds the read model anew. */
  later?: LaterEvent;
}

export const projectionStates: CollectionSpec<ProjectionState> = {
  name: 'projection_states',
  fields: {},
  indexes: [],
  is_small: true,
};
export const projectorStates: CollectionSpec<ProjectorState> = {
  name: 'projector_states',
  fields: {},
  indexes: [],
  is_small: true,
};
/** Transactions beside the turns of a follower's projector write one of these, so that a projector that begins conflicts with them. */
export interface ProjectorLane extends Document {
  epoch: number;
}
export const projectorLanes: CollectionSpec<ProjectorLane> = { name: 'projector_lanes', fields: {}, indexes: [] };
export const parkedEvents: CollectionSpec<ParkedEvent> = {
  name: 'parked_events',
  fields: { projection: 'string', generation: 'number', position: 'string' },
  indexes: [{ fields: { projection: 1, generation: 1, position: 1 } }],
};
/**
 * Who follows the log to make documents: the projector, `live`, makes all read models but those of the others. Each of the others makes
 * the projection of its name, with a checkpoint of its own, and delays nobody.
 */
const FOLLOWERS = ['live', 'worker_log'] as const;
export type Follower = (typeof FOLLOWERS)[number];
export const PROJECTOR: Follower = 'live';
export const followerOf = (projection: string): Follower =>
  FOLLOWERS.find((follower) => follower === projection) ?? PROJECTOR;

export function inGeneration<T extends Document>(spec: CollectionSpec<T>, generation: number): CollectionSpec<T> {
  return { ...spec, name: `${spec.name}_${generation}` };
}

/** Fills the fields that a stored document lacks: an older version wrote it, or there is none yet. */
export function projectionState(name: string, stored: ProjectionState | null): ProjectionState {
  const nothing = { version: 0, generation: 0, collections: [], identities: {}, parked: 0, next: null, retired: [] };
  return { ...nothing, types: null, failed: null, rebuild: false, verify: false, verified: null, ...stored, _id: name };
}

export function projectorState(stored: ProjectorState | null, follower: Follower = PROJECTOR): ProjectorState {
  const nothing = { checkpoint: BEGINNING, epoch: 0, turn: 0, generations: {} };
  return { ...nothing, log_id: '', last_event: null, catching_up_to: null, ...stored, _id: follower };
}

export interface RebuildRequest {
  /** A build of this version that is under way goes on. Any other is given up: it may have the fault that the rebuild is to mend. */
  continues?: number | 'any';
  /** Compare the documents of both generations before the flip. */
  verify?: boolean;
}

/**
 * Asks the projector to build a projection anew from the beginning of the log, beside its live generation. Returns the number of that
 * generation: the rebuilt one has a higher number.
 */
export async function requestRebuild(
  documents: Documents,
  projection: string,
  { continues, verify = false }: RebuildRequest = {},
): Promise<number> {
  return documents.transaction(async (inside) => {
    const states = await inside.collection(projectionStates);
    const state = projectionState(projection, await states.get(projection));
    const goes_on = state.next !== null && (continues === 'any' || state.next.version === continues);
    // A failed build goes on where it stopped: its cause may be fixed.
    const build = goes_on ? { next: { ...state.next!, builders: [] } } : { ...withoutNext(state), rebuild: true };
    await states.write([
      { replace: { ...state, ...build, failed: null, verify: verify || (goes_on && state.verify) } },
    ]);
    return state.generation;
  });
}

/**
 * Gives up the build of a projection, also one that has failed or was asked for; the documents that it has made go with the next look of a
 * projector. Of a projection whose live generation is of another version than `version`, the next build waits for an operator. Returns false
 * where there was none.
 */
export async function cancelBuild(documents: Documents, projection: string, version: number): Promise<boolean> {
  return documents.transaction(async (inside) => {
    const states = await inside.collection(projectionStates);
    const state = projectionState(projection, await states.get(projection));
    if (state.next === null && !state.rebuild && state.failed === null) return false;
    const failed = state.version === version ? null : { version, reason: 'an operator cancelled it' };
    await states.write([{ replace: { ...state, ...withoutNext(state), rebuild: false, verify: false, failed } }]);
    return true;
  });
}

/** The state's fields after the build under way is given up. */
export function withoutNext({
  next,
  retired,
  collections,
}: ProjectionState): Pick<ProjectionState, 'next' | 'retired'> {
  return { next: null, retired: next ? [...retired, { generation: next.generation, collections }] : retired };
}
