// Brings a copy to PostgreSQL or a bucket, and ends as by kill -9 at a step: node publishing-until.ts EVENTS_DB COPY PLACE FOLDER STEP. It prints the number of
// steps where it came to the end. With SIGSTOP as a last argument it stands still at the step, and says so.
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCopy } from '../../analysis/copy.ts';
import { publishToPostgres } from '../../analysis/postgres-copy.ts';
import { publishToBucket } from '../../cli/ops/bucket-copy.ts';
import { type BlobBucket, parseBlobUrl } from '../../settings/blob-url.ts';

type Arguments = [path: string, file: string, place: string, folder: string, step: string, signal?: string];
const [path, file, place, folder, last, signal = 'SIGKILL'] = process.argv.slice(2) as Arguments;
let steps = 0;
const step = () => {
  if (steps++ !== Number(last)) return;
  if (signal === 'SIGSTOP') process.stdout.write('stopped\n');
  process.kill(process.pid, signal);
};
const log = await openSqliteEventStore({ path, read_only: true });
const copy = await openCopy(file, log);
await copy.advance(log);
await copy.forget(log);
if (place.startsWith('s3:')) await publishToBucket(copy, parseBlobUrl(place) as BlobBucket, folder, step);
else await publishToPostgres(copy, place, folder, step);
await copy.close();
await log.close();
process.stdout.write(String(steps));
