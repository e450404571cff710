// Starts the roles that the settings name: http in this thread, projector and processes in a second one, the checker
// in a third, so that each has a core of its own.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { Tallies } from '../checkers/tallies.ts';
import { openFilesAllowed } from '../net/open-files.ts';
import type { Config } from '../settings/config.ts';
import { pause } from '../time/pause.ts';
import { isDamage, onReplacement, prepareDataDir, StartError } from './data-dir.ts';
import type { Http } from './http-role.ts';
import { failureOf, RestartingThread } from './restarting-thread.ts';
import type { ThreadData, ThreadMessage, ThreadRole } from './role-thread.ts';
import { type WaitingOptions, whenThere } from './stores.ts';
import { SupervisedThread, type ThreadStart } from './supervised-thread.ts';
import { openTracing } from './tracing.ts';

export interface Service {
  /** The URL of the http role; null where it does not run. */
  url: string | null;
  /** The URL of the probes; null without METRICS_PORT. */
  metrics_url: string | null;
  /**
   * Ends every role, which records or returns its work in hand. After `limit_ms` it terminates the threads and returns false; the
   * next start repeats their work.
   */
  stop(limit_ms?: number): Promise<boolean>;
  /** Resolves when a role has failed: the caller stops the service and starts it again. */
  failed: Promise<Error>;
}

const THREADS: readonly (readonly ThreadRole[])[] = [['projector', 'processes'], ['checker']];
/**
 * Limits a thread's heap to several times its live data: without a limit V8 lets garbage grow to hundreds of megabytes in each
 * thread. A young generation of 24 MB has semi-spaces of 8, as `--max-semi-space-size=8` of `npm start` gives every thread.
 */
const HEAP = { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: 384 };
/** Idle roles have about 70 files open; with fewer allowed, no store can be read. */
const LEAST_FILES = 128;
/** Process supervisors wait longer than this before they kill. */
const STOP_MS = 14_000;
/** Requests in flight may need the roles, so the roles end after the requests, or after this share of the time. */
const REQUESTS_FIRST = 1 / 3;

export async function startService(config: Config, logger: Logger): Promise<Service> {
  const open_files = openFilesAllowed();
  if (open_files < LEAST_FILES)
    throw new StartError(
      `${open_files} files may be open at a time: the service wants ${LEAST_FILES}, by \`ulimit -n\``,
    );
  const failure = Promise.withResolvers<Error>();
  const ending = new AbortController();
  const threads: RestartingThread[] = [];
  const supervised: SupervisedThread[] = [];
  const tallies = new Tallies();
  let endWatch = () => {};
  let endTracing = async () => {};
  let http: Http | null = null;

  async function stopThreads(): Promise<void> {
    await Promise.all([...threads, ...supervised].map((thread) => thread.stop()));
  }
  async function stop(limit_ms = STOP_MS): Promise<boolean> {
    ending.abort();
    endWatch();
    const done = new AbortController();
    const answered = http?.close();
    const ended = (async () => {
      await Promise.race([answered, pause(limit_ms * REQUESTS_FIRST, done.signal)]);
      await Promise.all([answered, stopThreads()]);
      return true;
    })();
    // The timer keeps the event loop alive, so that a role that never ends meets the limit here.
    const is_clean = await Promise.race([ended, pause(limit_ms, done.signal).then(() => false)]);
    done.abort();
    await endTracing();
    if (!is_clean) await Promise.all([...threads, ...supervised].map((thread) => thread.terminate()));
    return is_clean;
  }
  /** Starts the threads at the same time. Resolves when each works, or waits for a server. */
  async function startThreads(): Promise<void> {
    ending.signal.throwIfAborted();
    for (const group of THREADS) {
      const roles = group.filter((role) => config.roles.includes(role));
      if (roles.length === 0) continue;
      const start = (own: ThreadStart) =>
        new Worker(new URL('./role-thread.ts', import.meta.url), {
          workerData: { config, roles, own, counts: tallies.memory } satisfies ThreadData,
          resourceLimits: HEAP,
        });
      if (roles.includes('checker')) {
        supervised.push(
          new SupervisedThread({ start, started, logger, isHopeless: isDamage, failed: failure.resolve }),
        );
        continue;
      }
      const name = roles.join(' and ');
      threads.push(new RestartingThread({ name, start, logger, failed: failure.resolve }));
    }
    const starting = [...threads, ...supervised].map((thread) => thread.start());
    await Promise.all(starting.map((one) => Promise.race([one, failure.promise.then(raise)])));
  }
  async function begin(waiting: WaitingOptions['waiting']): Promise<void> {
    const prepare = () => prepareDataDir(config, logger);
    await whenThere('DATA_DIR', prepare, logger, { signal: ending.signal, waiting });
    endWatch = onReplacement(config, failure.resolve);
    await startThreads();
  }
  try {
    endTracing = await openTracing(config, config.roles.includes('http') ? ['http'] : []);
    if (config.roles.includes('http') || config.metrics_port !== null) {
      const threads_replaced = () => supervised.reduce((sum, { replaced }) => sum + replaced, 0);
      const checker = config.roles.includes('checker') ? { tallies, threads_replaced } : null;
      // A process without it does without two thirds of its modules.
      const { startHttp } = await import('./http-role.ts');
      http = await startHttp(config, logger, { begin, checker });
      void http.failed.then(failure.resolve);
    } else {
      const waits = Promise.withResolvers<void>();
      const begun = begin(() => waits.resolve());
      begun.catch((error: Error) => ending.signal.aborted || failure.resolve(error));
      await Promise.race([begun, waits.promise]);
    }
    return { url: http?.url ?? null, metrics_url: http?.metrics_url ?? null, stop, failed: failure.promise };
  } catch (error) {
    await stop();
    throw error;
  }
}

function raise(error: Error): never {
  throw error;
}

async function started(thread: Worker): Promise<void> {
  const [message] = (await once(thread, 'message')) as [ThreadMessage];
  if (message.type === 'failed') throw failureOf(message);
}
