// `projections diff`: makes the documents of projections of the log in a temporary file, and compares the live ones with them.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import type { EventStore } from '../../events/event-store.ts';
import { openUrlListing } from '../../events/url-listing.ts';
import type { Projection, Read } from '../../projections/projection.ts';
import { compareDocuments } from '../../projections/projector/compare.ts';
import { openReplica } from '../../projections/projector/replica.ts';
import { type Comparison, followerOf, inGeneration, projectorStates } from '../../readmodels/projection-state.ts';
import { closing } from '../closing.ts';
import { exitAtInterrupts } from '../interrupts.ts';
import { showProgress } from '../progress.ts';
import { type Command, EXIT, type Run } from './command.ts';
import { textOfComparison } from './comparisons.ts';
import { placeOf, unitOf } from './log-progress.ts';
import { openDocumentsToRead, type ReadDocuments } from './open-documents.ts';
import { openDecodedLog } from './open-log.ts';
import { ALL, namedProjections } from './projection-names.ts';
import { openSteadyReads } from './steady-reads.ts';

export const projectionsDiff: Command = {
  arguments: '[NAME…]',
  summary: 'compare each live document with what the log makes of it, in a temporary file of that size (TMPDIR)',
  options: { all: ALL },
  async run(run) {
    const projections = namedProjections(run, true);
    exitAtInterrupts();
    await using log = closing(await openDecodedLog(run));
    await using documents = closing(await openDocumentsToRead(run));
    const found: Diff[] = [];
    for await (const one of diffAll(run, log, documents, projections)) {
      found.push(one);
      if (one.compared === null) run.err.write(`${one.name} has no documents yet\n`);
      else if (!run.json) run.out.write(textOf(one.name, one.compared));
    }
    const compared = found.map(({ name, compared }) => ({ name, ...compared }));
    if (run.json) run.out.write(`${JSON.stringify({ projections: compared }, null, 2)}\n`);
    return found.every(({ compared }) => (compared?.differing ?? 0) === 0) ? EXIT.clean : EXIT.violation;
  },
};

interface Diff {
  name: string;
  /** Null of a read model that nobody has built yet. */
  compared: Comparison | null;
}

const textOf = (name: string, compared: Comparison) => `${[`${name}:`, ...textOfComparison(compared)].join('\n  ')}\n`;

/** Compares one after the other. Where one is named, it must have documents. */
export async function* diffAll(
  run: Run,
  log: EventStore,
  documents: ReadDocuments,
  projections: readonly Projection[],
): AsyncGenerator<Diff> {
  const followers = new Set((await documents.reading(projectorStates).find({})).map(({ _id }) => _id));
  for (const projection of projections) {
    const { name } = projection;
    // Who follows the log for this one alone has not begun.
    const is_unbuilt = run.arguments.length === 0 && !followers.has(followerOf(name));
    yield { name, compared: is_unbuilt ? null : await diff(run, log, documents, projection) };
  }
}

async function diff(run: Run, log: EventStore, documents: ReadDocuments, projection: Projection): Promise<Comparison> {
  const { name } = projection;
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-diff-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const made = await openSqliteDocuments({ path: join(folder, 'documents.db'), is_temporary: true });
  const { signal } = new AbortController();
  try {
    const steady = await openSteadyReads(documents, [projection]);
    const { first } = steady;
    const replica = await openReplica({
      ...{ log, listing: openUrlListing(log), documents: made, projection, signal },
      logger: pino({ level: 'silent' }),
    });
    const total = placeOf(first.checkpoint);
    const shown = showProgress(() => ({ total, done: placeOf(replica.position) }), run.err, unitOf(first.checkpoint));
    await replica.advance(first.checkpoint).finally(() => shown.stop());
    const live: Read = (spec) => documents.reading(inGeneration(spec, first.generations[name]!));

    const found = await compareDocuments({
      ...{ projection, live, rebuilt: replica.read, signal },
      async readBoth(reading) {
        const read = await steady.read(() => reading(live));
        if (read === null) return null;
        await replica.advance(read.at.checkpoint);
        return [read.found, await reading(replica.read)];
      },
    });
    return { position: replica.position, ...found };
  } finally {
    await made.close();
    process.off('exit', remove);
    remove();
  }
}
