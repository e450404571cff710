// `projections diff`: makes the documents of projections of the log in a temporary file, and compares the live ones with them.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import type { EventStore } from '../../events/event-store.ts';
import { openUrlListing } from '../../events/url-listing.ts';
import { compareDocuments } from '../../projections/compare.ts';
import type { Projection, Read } from '../../projections/projection.ts';
import { openReplica } from '../../projections/replica.ts';
import { type Comparison, inGeneration } from '../../readmodels/projection-state.ts';
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
  name: 'projections diff',
  arguments: '[NAME…]',
  summary: 'compare each live document with what the log makes of it, in a temporary file of that size (TMPDIR)',
  options: { all: ALL },
  async run(run) {
    const projections = namedProjections(run);
    exitAtInterrupts();
    await using log = closing(await openDecodedLog(run));
    await using documents = closing(await openDocumentsToRead(run));
    const compared: (Comparison & { name: string })[] = [];
    for (const projection of projections) {
      const found = { name: projection.name, ...(await diff(run, log, documents, projection)) };
      compared.push(found);
      if (!run.json) run.out.write(`${[`${found.name}:`, ...textOfComparison(found)].join('\n  ')}\n`);
    }
    if (run.json) run.out.write(`${JSON.stringify({ projections: compared }, null, 2)}\n`);
    return compared.every(({ differing }) => differing === 0) ? EXIT.clean : EXIT.violation;
  },
};

async function diff(run: Run, log: EventStore, documents: ReadDocuments, projection: Projection): Promise<Comparison> {
  const { name } = projection;
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-diff-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const made = await openSqliteDocuments({ path: join(folder, 'documents.db') });
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
