// Picks the adapters by the settings: the embedded stores in one folder, or servers.
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openFileBlobs, type SignBlobLink } from '../adapters/blobs/files/file-blobs.ts';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openSqliteQueue } from '../adapters/queue/sqlite/sqlite-queue.ts';
import type { Queue } from '../checkers/queue.ts';
import type { Blobs } from '../commands/blobs.ts';
import { withCodec } from '../events/codec.ts';
import type { EventStore, StoredLog } from '../events/event-store.ts';
import { openPersonalKeys, WrongPersonalDataKey } from '../events/personal-keys.ts';
import { type StoreFault, storeFaultOf } from '../events/store-faults.ts';
import { withTraces } from '../events/traced-log.ts';
import { openUrlListing, type UrlListing } from '../events/url-listing.ts';
import type { Documents } from '../readmodels/documents.ts';
import type { Config } from '../settings/config.ts';
import { backOff } from '../time/pause.ts';
import { StartError } from './data-dir.ts';
import { guardReserve } from './disk-reserve.ts';
import { keyOf } from './local-key.ts';
import { tlsFilesOf } from './store-tls.ts';

export interface Stores {
  log: EventStore;
  /** The same log as it is stored, personal fields sealed: for backups alone. */
  stored_log: StoredLog;
  /** The roles of a thread share its cache. */
  listing: UrlListing;
  documents: Documents;
  close(): Promise<void>;
}

/** http and the checkers append most: a thread checkpoints the write-ahead log, so that no append waits for that. */
const FOR_HTTP = { checkpoint_thread: true };
/** A checker appends all the time, so its appends share an fsync. */
const FOR_CHECKER = { ...FOR_HTTP, group_ms: 50 };
const LOG_OPTIONS = { http: FOR_HTTP, checker: FOR_CHECKER, others: {} };
/** Reads of http run in two threads, one for heavy reads and one for others, so that none blocks its event loop. */
const HTTP_READERS = 2;
/** The longest wait between two looks for a server that is away. */
const RETRY_MS = 2_000;

/** Why a start waits. The probes show the reason to every caller, so it holds no secret. */
export interface Waiting {
  code: StoreFault;
  reason: string;
}

export interface WaitingOptions {
  /** An abort ends the wait, which then throws. */
  signal: AbortSignal;
  /** Called with the reason when a wait begins, and with null when it ends. */
  waiting: (for_what: Waiting | null) => void;
}

export interface OpeningOptions extends WaitingOptions {
  of: 'http' | 'checker' | 'others';
}

/** Opens the stores, and waits as long as it takes for servers that are away. Throws every other error, `StartError` for a bad URL. */
export async function openStores(config: Config, logger: Logger, options: OpeningOptions): Promise<Stores> {
  const { data_dir, mongodb_url } = config;
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    await Promise.allSettled(opened.map((store) => store.close()));
  };
  // Clients of servers are imported only when used, because each takes tens of megabytes in every thread.
  async function openDocuments(): Promise<Documents> {
    if (!mongodb_url) {
      return openSqliteDocuments({
        path: join(data_dir, 'documents.db'),
        readers: options.of === 'http' ? HTTP_READERS : 0,
      });
    }
    const { openMongoDocuments } = await import('../adapters/documents/mongodb/mongodb-documents.ts');
    return openMongoDocuments({ url: mongodb_url, tls: tlsFilesOf(config, 'MONGODB'), log: logger });
  }
  try {
    const store = await openStoredLog(config, logger, options);
    opened.push(store);
    const keys = openPersonalKeys(store, await keyOf(config.personal_data_key, data_dir, 'personal-data-key'));
    await whenThere('the event log', () => keys.make('service').catch(blameKey), logger, options);
    const coded = withCodec(store, keys);
    const log = config.otel_exporter_otlp_endpoint === null ? coded : withTraces(coded);
    const openThem = () => openDocuments().catch(blame({ name: 'MONGODB_URL', url: mongodb_url }));
    const documents = await whenThere('the store of documents', openThem, logger, options);
    opened.push(documents);
    return { log, stored_log: store, listing: openUrlListing(log), documents, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the event log as it is stored, which may be empty and stays so, and waits for its server like `openStores`. */
export function openStoredLog(config: Config, logger: Logger, options: OpeningOptions): Promise<StoredLog> {
  const { data_dir, eventstore_url } = config;
  async function open(): Promise<StoredLog> {
    if (!eventstore_url) {
      const path = join(data_dir, 'events.db');
      return openSqliteEventStore({ path, ...LOG_OPTIONS[options.of] });
    }
    const { openEventStoreDb } = await import('../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts');
    return openEventStoreDb({ url: eventstore_url, tls: tlsFilesOf(config, 'EVENTSTORE'), log: logger });
  }
  const setting = { name: 'EVENTSTORE_URL', url: eventstore_url };
  return whenThere('the event log', () => open().catch(blame(setting)), logger, options);
}

/** Opens the queue, and waits for its server like `openStores`. */
export function openQueue(config: Config, logger: Logger, options: OpeningOptions): Promise<Queue> {
  const { data_dir, nats_url, nats_replicas: replicas } = config;
  const setting = { name: 'NATS_URL', url: nats_url };
  async function open(): Promise<Queue> {
    if (!nats_url) return openSqliteQueue({ path: join(data_dir, 'queue.db') });
    const { openNatsQueue } = await import('../adapters/queue/nats/nats-queue.ts');
    return openNatsQueue({ url: nats_url, tls: tlsFilesOf(config, 'NATS'), replicas, log: logger });
  }
  return whenThere('the queue', () => open().catch(blame(setting)), logger, options);
}

export interface OpenBlobs extends Blobs {
  close(): Promise<void>;
}

/**
 * Opens the stored files, and waits for their store like `openStores`. `sign` makes the links of files in a folder, which http
 * serves.
 */
export function openBlobs(
  {
    blob_url,
    data_dir,
    disk_reserve_mb,
  }: Pick<Config, 'blob_url' | 'data_dir'> & Partial<Pick<Config, 'disk_reserve_mb'>>,
  logger: Logger,
  options: WaitingOptions & { sign?: SignBlobLink },
): Promise<OpenBlobs> {
  async function open(): Promise<OpenBlobs> {
    if (blob_url?.kind === 's3') {
      const { openS3Blobs } = await import('../adapters/blobs/s3/s3-blobs.ts');
      return openS3Blobs({ ...blob_url, folder: join(data_dir, 'downloads') });
    }
    const folder = blob_url?.folder ?? join(data_dir, 'blobs');
    const [sign, assertRoom] = [options.sign ?? refuseLinks, guardReserve(folder, disk_reserve_mb ?? null)];
    return { ...(await openFileBlobs({ folder, sign, assertRoom })), close: async () => {} };
  }
  const blamed = (error: unknown) => {
    if (blob_url === null || storeFaultOf(error) !== null) throw error;
    throw new StartError(`BLOB_URL cannot be used: ${(error as Error).message.split('\n')[0]}`);
  };
  return whenThere('the store of files', () => open().catch(blamed), logger, options);
}

/** Calls `open`, again with back-off for as long as a store is away or has no room. Throws every other error. */
export async function whenThere<T>(
  name: string,
  open: () => Promise<T>,
  logger: Logger,
  { signal, waiting }: WaitingOptions,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      const store = await open();
      if (failures > 0) waiting(null);
      return store;
    } catch (error) {
      const code = storeFaultOf(error);
      if (code === null || signal.aborted) throw error;
      if (failures === 0) {
        const reason = code === 'storage_full' ? `there is no room to write to ${name}` : `${name} does not answer`;
        const awaited = code === 'storage_full' ? 'room' : 'it';
        logger.warn({ reason: (error as Error).message }, `${reason}: waiting for ${awaited}`);
        waiting({ code, reason });
      }
      await backOff(failures, RETRY_MS, signal);
    }
  }
}

const refuseLinks: SignBlobLink = () => {
  throw new Error('only http links to files');
};

/** The service's own key tells whether this process has the same PERSONAL_DATA_KEY as those before it. */
function blameKey(error: unknown): never {
  throw error instanceof WrongPersonalDataKey ? new StartError(error.message) : error;
}

/** Makes a handler that blames the setting's URL for any error but a store's fault. Its message shows no secret of the URL. */
function blame({ name, url }: { name: string; url: string | null }): (error: unknown) => never {
  return (error) => {
    if (url === null || storeFaultOf(error) !== null || error instanceof StartError) throw error;
    const { message } = error as Error;
    const secrets = /:\/\/([^/]*)@/.exec(url)?.[1]?.split(/[:@]/) ?? [];
    const shown = secrets.some((secret) => secret !== '' && message.includes(secret)) ? 'it is malformed' : message;
    throw new StartError(`${name} cannot be used: ${shown.split('\n')[0]}`);
  };
}
