// Reads of live documents that a projector may be writing: what a read found is of one position of the log.

import type { Projection } from '../../projections/projection.ts';
import {
  type Follower,
  followerOf,
  type ProjectorState,
  projectionState,
  projectionStates,
  projectorState,
  projectorStates,
} from '../../readmodels/projection-state.ts';
import { UsageError } from './command.ts';
import type { ReadDocuments } from './open-documents.ts';

export interface SteadyReads {
  /** The live generation of a projection, as of the beginning. */
  readonly first: ProjectorState;
  /** Null when a projector has written during each of a few reads: a shorter one may succeed. Throws `UsageError` after a flip. */
  read<R>(read: () => Promise<R>): Promise<{ found: R; at: ProjectorState } | null>;
}

const TRIES = 10;

/** Reads the documents of one follower's projections. Throws `UsageError` where there are none, or they are incomplete or of another version. */
export async function openSteadyReads(
  documents: ReadDocuments,
  projections: readonly Projection[],
): Promise<SteadyReads> {
  const follower = followerOf(projections[0]!.name);
  const first = await fenceOf(documents, follower);
  if (first.catching_up_to !== null) {
    throw new UsageError('the documents are being rebuilt: try again when `projections list` shows no lag');
  }
  for (const { name, version } of projections) {
    if (first.generations[name] === undefined) throw new UsageError(`${name} has no documents yet`);
    const state = projectionState(name, await documents.reading(projectionStates).get(name));
    if (state.version === version) continue;
    throw new UsageError(`the documents of ${name} are of version ${state.version}, and this program knows ${version}`);
  }
  return {
    first,
    async read(read) {
      for (let tries = 0; tries < TRIES; tries++) {
        const at = await fenceOf(documents, follower);
        const flipped = projections.find(({ name }) => at.generations[name] !== first.generations[name]);
        if (flipped) throw new UsageError(`${flipped.name} was rebuilt meanwhile: try again`);
        const found = await read();
        const { epoch, turn } = await fenceOf(documents, follower);
        // Each transaction of a projector changes one of them.
        if (epoch === at.epoch && turn === at.turn) return { found, at };
      }
      return null;
    },
  };
}

const fenceOf = async (documents: ReadDocuments, follower: Follower) =>
  projectorState(await documents.reading(projectorStates).get(follower), follower);
