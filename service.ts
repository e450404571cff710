// Starts the roles that the settings name: http in this thread, projector and processes in a second one, the checker
// in a third, so that each has a core of its own.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config, Role } from './config.ts';
import { startHttp } from './http-role.ts';
import type { ThreadData, ThreadMessage } from './role-thread.ts';

export interface Service {
  /** Of the http role; null where it does not run here. */
  url: string | null;
  /** Ends every role cleanly: what is in hand is recorded or given back. */
  stop(): Promise<void>;
  /** Resolves when a role has ended by a fault: the service is then to be stopped and started again. */
  failed: Promise<Error>;
}

const THREADS: readonly (readonly Role[])[] = [['projector', 'processes'], ['checker']];
/**
 * A thread's heap: several times what it holds alive. Without a limit V8 lets garbage grow to hundreds of megabytes in each
 * thread before it looks. A checker makes the most of it, and what dies young costs the least.
 */
const heapOf = (roles: readonly Role[]) => ({
  maxYoungGenerationSizeMb: roles.includes('checker') ? 80 : 48,
  maxOldGenerationSizeMb: 384,
});
/** A role that has not ended by then is ended: what it had in hand is delivered again. */
const STOP_MS = 15_000;

export async function startService(config: Config, logger: Logger): Promise<Service> {
  const failure = Promise.withResolvers<Error>();
  const threads: Worker[] = [];
  let stopping = false;
  async function stopThreads(): Promise<void> {
    stopping = true;
    await Promise.all(threads.map(stopThread));
  }
  try {
    for (const group of THREADS) {
      const roles = group.filter((role) => config.roles.includes(role));
      if (roles.length === 0) continue;
      const thread = new Worker(new URL('./role-thread.ts', import.meta.url), {
        workerData: { config, roles } satisfies ThreadData,
        resourceLimits: heapOf(roles),
      });
      threads.push(thread);
      thread.on('error', (error: Error) => failure.resolve(error));
      thread.on('exit', (code) => stopping || failure.resolve(new Error(`${roles.join(' and ')} ended with ${code}`)));
    }
    // The roles open the same files and servers: they start together, and http listens when all are there.
    await Promise.all(threads.map((thread) => Promise.race([started(thread), failure.promise.then(raise)])));
    const http = config.roles.includes('http') ? await startHttp(config, logger) : null;
    return {
      url: http?.url ?? null,
      async stop() {
        await http?.close();
        await stopThreads();
      },
      failed: failure.promise,
    };
  } catch (error) {
    await stopThreads();
    throw error;
  }
}

function raise(error: Error): never {
  throw error;
}

async function started(thread: Worker): Promise<void> {
  const [message] = (await once(thread, 'message')) as [ThreadMessage];
  if (message.type === 'failed') throw new Error(message.reason);
}

async function stopThread(thread: Worker): Promise<void> {
  if (thread.threadId === -1) return;
  const ended = once(thread, 'exit');
  thread.postMessage({ type: 'stop' });
  const timer = setTimeout(() => void thread.terminate(), STOP_MS);
  await ended;
  clearTimeout(timer);
}
