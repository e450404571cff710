// `store compact`: writes the embedded stores anew, so that nothing that was deleted is left in their files.
import { basename } from 'node:path';
import { isThere } from '../../adapters/sqlite.ts';
import { compactFiles, StoreInUse } from '../../adapters/sqlite-compact.ts';
import { embeddedStores } from '../../service/data-dir.ts';
import { readConfig } from '../../settings/config.ts';
import { type Command, EXIT, UsageError } from './command.ts';

/** What gives back the room of deleted content in stores that are servers. */
const ADVICE = {
  eventstore_url:
    'the event log is EventStoreDB, which keeps deleted events until each node is scavenged: POST /admin/scavenge, as docs/guides/event-log.md says',
  mongodb_url:
    'the documents are in MongoDB, which overwrites deleted ones as it reuses their room: the command compact of mongosh gives it back',
  nats_url: 'the queue is NATS, which removes the files of acknowledged messages by itself',
} as const;

export const storeCompact: Command = {
  summary:
    'write the files of the embedded stores anew, without what was deleted (the service must be stopped; this writes)',
  options: {},
  async run(run) {
    const config = readConfig(run.env);
    const paths = embeddedStores(config).filter(isThere);
    const names = Object.keys(ADVICE) as (keyof typeof ADVICE)[];
    const advice = names.filter((name) => config[name] !== null).map((name) => ADVICE[name]);
    if (paths.length === 0 && advice.length === 0) throw new UsageError(`there is no store in ${config.data_dir}`);
    const compacted = compacting(paths);
    if (run.json) run.out.write(`${JSON.stringify({ files: compacted, advice }, null, 2)}\n`);
    else {
      for (const { path, before_bytes, after_bytes } of compacted) {
        run.out.write(`${basename(path)}: ${megabytes(before_bytes)} before, ${megabytes(after_bytes)} now\n`);
      }
      for (const sentence of advice) run.out.write(`${sentence}\n`);
    }
    return EXIT.clean;
  },
};

function compacting(paths: readonly string[]) {
  try {
    return compactFiles(paths);
  } catch (error) {
    if (!(error instanceof StoreInUse)) throw error;
    throw new UsageError(
      `${error.message}: stop the service first, for nobody can write meanwhile; nothing was changed`,
    );
  }
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;
