// How far the read models are, and which generation of each collection is read: a rebuild fills a new generation
// beside the one that is read, then flips. Only the projector writes these; see `projections/fence.ts`.
import { BEGINNING, type Position } from '../events/event-store.ts';
import type { CollectionSpec, Document, Documents } from './documents.ts';

/** One for each projection. */
export interface ProjectionState extends Document {
  /** Of the code that built what is read; 0 when nothing is read yet. */
  version: number;
  /** What is read; 0 when none is yet. A number is never given twice. */
  generation: number;
  /** The collections' names, so that a reader finds the generation of a collection. */
  collections: string[];
  /** How many events this generation was made without: their projection could not take them. */
  parked: number;
  /** A generation that is being filled, up to `checkpoint`. */
  next: { version: number; generation: number; checkpoint: Position; parked: number } | null;
  /** Generations that nobody begins to read any more, which are kept for those who read them already. */
  retired: { generation: number; collections: string[] }[];
  /** Somebody asked for it to be built anew, whatever its version. */
  rebuild: boolean;
}

/** The event that was taken last: a log that does not have it is not the one that the documents came from. */
export interface LastEvent {
  id: string;
  stream: string;
  revision: number;
  position: Position;
}

/** One for all projections: they go forward together. Every transaction of a projector compares all of it and writes it. */
export interface ProjectorState extends Document {
  /** Up to where all live projections have seen the log. */
  checkpoint: Position;
  /** Raised by each projector that begins. */
  epoch: number;
  /** Raised by each transaction of an epoch. */
  turn: number;
  /** What is live, by projection. */
  generations: { [projection: string]: number };
  /** Of the log that the documents came from; empty before the first projector has asked for it. */
  log_id: string;
  last_event: LastEvent | null;
  /** The documents are made from the beginning of the log, and until they have passed this they are not all there. */
  catching_up_to: Position | null;
}

/** An event that a projection could not take, and why. */
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
}

export const projectionStates: CollectionSpec<ProjectionState> = {
  name: 'projection_states',
  fields: {},
  indexes: [],
};
export const projectorStates: CollectionSpec<ProjectorState> = { name: 'projector_states', fields: {}, indexes: [] };
export const parkedEvents: CollectionSpec<ParkedEvent> = {
  name: 'parked_events',
  fields: { projection: 'string', generation: 'number', position: 'string' },
  indexes: [{ fields: { projection: 1, generation: 1, position: 1 } }],
};
export const PROJECTOR = 'live';

export function inGeneration<T extends Document>(spec: CollectionSpec<T>, generation: number): CollectionSpec<T> {
  return { ...spec, name: `${spec.name}_${generation}` };
}

/** What is stored, whole: a document of before a field was added lacks it, and so does one that is not there. */
export function projectionState(name: string, stored: ProjectionState | null): ProjectionState {
  const nothing = { version: 0, generation: 0, collections: [], parked: 0, next: null, retired: [], rebuild: false };
  return { ...nothing, ...stored, _id: name };
}

export function projectorState(stored: ProjectorState | null): ProjectorState {
  const nothing = { checkpoint: BEGINNING, epoch: 0, turn: 0, generations: {} };
  return { ...nothing, log_id: '', last_event: null, catching_up_to: null, ...stored, _id: PROJECTOR };
}

/** Has the projector build a projection anew, beside what is read, from the beginning of the log. */
export async function requestRebuild(documents: Documents, projection: string): Promise<void> {
  await documents.transaction(async (inside) => {
    const states = await inside.collection(projectionStates);
    const state = projectionState(projection, await states.get(projection));
    // What was being built may be what the rebuild is asked for.
    await states.write([{ replace: { ...state, ...withoutNext(state), rebuild: true } }]);
  });
}

/** The state's fields when what is being built is given up. */
export function withoutNext({
  next,
  retired,
  collections,
}: ProjectionState): Pick<ProjectionState, 'next' | 'retired'> {
  return { next: null, retired: next ? [...retired, { generation: next.generation, collections }] : retired };
}
