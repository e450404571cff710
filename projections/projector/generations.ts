// The generations of a projection's collections: their numbers, and how those go that nobody reads.
import type { Logger } from 'pino';
import type { Documents } from '../../readmodels/documents.ts';
import {
  inGeneration,
  type ProjectionState,
  projectionState,
  projectionStates,
} from '../../readmodels/projection-state.ts';
import type { Projection } from '../projection.ts';
import type { Fence } from './fence.ts';
import { stateIn } from './take-events.ts';

export async function stateOf(documents: Documents, name: string): Promise<ProjectionState> {
  return projectionState(name, await documents.reading(projectionStates).get(name));
}

/** The number of the generation whose collection this is; null for a collection that is not `own`. */
function numberOf(name: string, own: ReadonlySet<string>): number | null {
  const end = name.lastIndexOf('_');
  const number = Number(name.slice(end + 1));
  return own.has(name.slice(0, end)) && Number.isInteger(number) ? number : null;
}

/** The numbers of the generations of which there are collections, also of those that no state names. */
export function numbersOf({ collections }: Projection, names: readonly string[]): number[] {
  const own = new Set(collections.map((spec) => spec.name));
  return names.flatMap((name) => numberOf(name, own) ?? []);
}

/** First removes the generation from the state, then drops it: a reader whose stream ends in between finds out from the state. */
export async function dropRetired(
  { documents, fence, logger }: { documents: Documents; fence: Fence; logger: Logger },
  name: string,
  generation: number,
): Promise<void> {
  let collections: string[] = [];
  await fence.inTurn((commit) =>
    commit(async (inside) => {
      const { states, state } = await stateIn(inside, name);
      collections = state.retired.find((retired) => retired.generation === generation)?.collections ?? [];
      const retired = state.retired.filter((kept) => kept.generation !== generation);
      await states.write([{ replace: { ...state, retired } }]);
      return {};
    }),
  );
  for (const collection of collections)
    await documents.drop(inGeneration({ name: collection } as never, generation).name);
  logger.info({ projection: name, generation }, 'dropped the old generation of a rebuilt read model');
}

/** Drops collections that a crash has left of generations that no state names. */
export async function dropOrphans({
  documents,
  projections,
}: {
  documents: Documents;
  projections: readonly Projection[];
}): Promise<void> {
  const names = await documents.names();
  for (const projection of projections) {
    const { generation, next, retired, collections } = await stateOf(documents, projection.name);
    const known = new Set([generation, next?.generation ?? 0, ...retired.map((old) => old.generation)]);
    const own = new Set([...collections, ...projection.collections.map((spec) => spec.name)]);
    for (const name of names) {
      const number = numberOf(name, own);
      if (number !== null && number < Math.max(...known) && !known.has(number)) await documents.drop(name);
    }
  }
}
