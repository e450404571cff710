// Copies a log, and ends as by kill -9 at a step: node copying-until.ts EVENTS_DB COPY STEP.
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCopy } from '../../analysis/copy.ts';

const [path, file, last] = process.argv.slice(2) as [string, string, string];
let steps = 0;
const step = () => {
  if (steps++ === Number(last)) process.kill(process.pid, 'SIGKILL');
};
const log = await openSqliteEventStore({ path, read_only: true });
const copy = await openCopy(file, log, { step });
await copy.advance(log);
await copy.forget(log);
await copy.close();
await log.close();
