// The golden histories: events as each release appended them, which every later one must read. `npm run lint` adds what the schemas of this
// release lack in its own history; the histories of releases never change.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { NewEvent } from '../../events/event-store.ts';
import { compile } from '../../events/event-validation.ts';
import { EVENT_TYPES, type EventType } from '../../events/vocabulary.ts';
import { parkedEvents } from '../../readmodels/projection-state.ts';
import { coded, openTestStores, project } from '../support/stores.ts';

const GOLDEN = join(import.meta.dirname, '../golden');
const files = readdirSync(GOLDEN);

interface Line {
  stream: string;
  type: EventType;
  data: unknown;
  metadata: NewEvent['metadata'];
}
const linesOf = (file: string) =>
  readFileSync(join(GOLDEN, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

for (const file of files) {
  test(`the events of ${file} are read in the shape of today, and every projection takes them`, async (t) => {
    const { log: store, documents } = await openTestStores(t);
    const lines = linesOf(file);
    const revisions = new Map<string, number>();
    for (const [n, { stream, ...event }] of lines.entries()) {
      const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
      const appended = await store.append(stream, revisions.get(stream) ?? 'no_stream', [{ ...event, id }]);
      if (!appended.ok) return t.fail(`${stream} is not appended`);
      revisions.set(stream, appended.revision);
    }
    const log = coded(store);
    const read = await Array.fromAsync(log.readAll());
    t.deepEqual(
      read.map(({ type }) => type),
      lines.map(({ type }) => type),
    );
    for (const { type, data } of read) t.is(compile(EVENT_TYPES[type as EventType].schema)(data), null, type);

    await project({ log, documents });
    const parked = await Array.fromAsync((await documents.collection(parkedEvents)).stream({}));
    t.deepEqual(parked, []);
  });
}

test('each event type is in a history', (t) => {
  const types = new Set(files.flatMap(linesOf).map(({ type }) => type));
  t.deepEqual(
    Object.keys(EVENT_TYPES).filter((type) => !types.has(type as EventType)),
    [],
  );
});
