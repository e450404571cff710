// Copies of a log that has every type of event, and in which a stream of each category was deleted before the first copy and after it, are row by row
// what SQL over the log answers: in DuckDB, in a folder of Parquet and in PostgreSQL.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openDatabase } from '../../analysis/duckdb.ts';
import { EVENT_VIEWS } from '../../analysis/views.ts';
import type { Metadata, StoredLog } from '../../events/event-store.ts';
import { categoryOf } from '../../events/streams.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { rowsIn, rowsOfLog, rowTexts } from '../support/copied-rows.ts';
import { folder, ops } from '../support/filled-log.ts';
import { askedEach, findPostgres, startPostgres } from '../support/postgres.ts';

interface Line {
  stream: string;
  type: string;
  data: unknown;
  metadata: Metadata;
}

const GOLDEN = join(import.meta.dirname, '../golden');
const history = readdirSync(GOLDEN)
  .map((name) => readFileSync(join(GOLDEN, name), 'utf8'))
  .join('');

/** The golden history of another user, with other jobs. Returns its streams. */
async function addHistory(log: StoredLog, user: string): Promise<string[]> {
  const ids = new Map<string, string>();
  const ownOf = (id: string) => ids.get(id) ?? ids.set(id, randomUUID()).get(id)!;
  const own = history
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, ownOf)
    .replaceAll('alice', user)
    .replaceAll(/"stream":"(some stream|service-log|blocklist-domains|intake-[^"]*)"/g, `"stream":"$1 of ${user}"`);
  const revisions = new Map<string, number>();
  for (const line of own.trimEnd().split('\n')) {
    const { stream, ...event } = JSON.parse(line) as Line;
    const revision = revisions.get(stream);
    await log.append(stream, revision ?? 'no_stream', [{ id: randomUUID(), ...event }]);
    revisions.set(stream, (revision ?? -1) + 1);
  }
  return [...revisions.keys()];
}

test('copies of a log with every type of event have its rows, and none of the streams that were deleted', async (t) => {
  t.timeout(300_000);
  const DATA_DIR = await folder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  t.teardown(() => log.close());
  const bin = findPostgres();
  const server = bin && (await startPostgres(bin));
  if (server) t.teardown(() => server.remove());
  const tables = join(DATA_DIR, 'tables');
  const places = [tables, ...(server ? [`${server.url}?schema=c`] : [])];
  const copy = async () => {
    for (const place of places) {
      const { code, stderr } = await ops({ DATA_DIR }, 'copy', '--to', place);
      t.is(code, 0, stderr);
    }
  };

  await fillAnalysed(log);
  await addHistory(log, 'cleo');
  const before = await addHistory(log, 'amy');
  for (const stream of before) await log.deleteStream(stream);
  const after = await addHistory(log, 'bea');
  await copy();
  for (const stream of [...after, 'urls-jan-1', 'checks-jan-1-0']) await log.deleteStream(stream);
  await addHistory(log, 'dora');
  await copy();

  const types = new Set(await Array.fromAsync(log.readAll(), ({ type }) => type));
  t.deepEqual(
    EVENT_VIEWS.filter((type) => !types.has(type)),
    [],
    'every type is in the log',
  );
  t.deepEqual(new Set(before.map(categoryOf)), new Set(after.map(categoryOf)));
  const wanted = await rowsOfLog(log);
  const empty = [...wanted].flatMap(([name, rows]) => (rows.length === 0 ? [name] : []));
  t.deepEqual(empty, ['PersonalKeyMade'], 'keys are left out');
  const kept = await openDatabase(join(tables, '.copy.duckdb'));
  t.teardown(() => kept.close());
  for (const [name, rows] of wanted) {
    t.deepEqual(await rowsIn(kept, `FROM "${name}"`), rows, `${name} in DuckDB`);
    const parquet = join(tables, `${name}.parquet`);
    t.deepEqual(await rowsIn(kept, `FROM read_parquet('${parquet}')`), rows, `${name} in Parquet`);
  }
  if (!server) return;
  const names = [...wanted.keys()];
  const sent = await askedEach(
    server.url,
    names.map((name) => `SELECT * FROM c."${name.toLowerCase()}"`),
  );
  for (const [n, name] of names.entries()) t.deepEqual(rowTexts(sent[n]!), wanted.get(name)!, `${name} in PostgreSQL`);
});
