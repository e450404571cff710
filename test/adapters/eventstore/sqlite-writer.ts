// A program that appends to a SQLite event log, run as a thread or a process by the tests:
// `sqlite-writer.ts PATH STREAM APPENDS`. With APPENDS `forever` it prints each acknowledged revision.
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';

/** The number of events in one append. */
export const APPEND = 7;

if (import.meta.main) await write(process.argv.slice(2));

async function write([path, stream, appends]: string[]): Promise<void> {
  const store = await openSqliteEventStore({ path: path! });
  let revision = -1;
  for await (const last of store.readStream(stream!, { direction: 'backwards', limit: 1 })) revision = last.revision;
  for (let count = 0; appends === 'forever' || count < Number(appends); count += 1) {
    const command_id = randomUUID();
    const metadata = { command_id, causation_id: command_id, actor: 'process:writer', at: new Date().toISOString() };
    const events = Array.from({ length: APPEND }, (_, n) => ({
      id: randomUUID(),
      type: 'Written',
      data: { revision: revision + 1 + n, padding: 'x'.repeat(200) },
      metadata,
    }));
    const result = await store.append(stream!, revision === -1 ? 'no_stream' : revision, events);
    if (!result.ok) throw new Error(`${stream} has another writer: it is at ${result.actual}`);
    revision = result.revision;
    // Written at once: a buffer would die with the process.
    if (appends === 'forever') writeSync(1, `${revision}\n`);
  }
  await store.close();
}
