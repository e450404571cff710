// The entry of a thread that runs roles: opens the stores for itself, runs until it is told to stop, closes them.
import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { createEngine } from './checkers/engine/engine.ts';
import { runWorker } from './checkers/worker.ts';
import { openCredits } from './commands/credits.ts';
import { openJobs } from './commands/job.ts';
import type { Config, Role } from './config.ts';
import { openLogger } from './logger.ts';
import { runProcesses } from './processes/processes.ts';
import { ALL_PROJECTIONS } from './projections/all.ts';
import { runProjector } from './projections/projector.ts';
import { openLeases } from './readmodels/leases.ts';
import { openReadModels } from './readmodels/projection-state.ts';
import { openStores, type Stores } from './stores.ts';

export interface ThreadData {
  config: Config;
  roles: readonly Role[];
}
export type ThreadMessage = { type: 'started' } | { type: 'failed'; reason: string };

const port = parentPort!;
const { config, roles } = workerData as ThreadData;
const logger = openLogger(config).child({ roles });
const stop = new AbortController();
port.on('message', () => stop.abort());

try {
  const stores = await openStores(config, logger, roles.includes('checker') ? 'checker' : 'others');
  const running = roles.map((role) => run(role, stores, logger.child({ role }), stop.signal));
  port.postMessage({ type: 'started' } satisfies ThreadMessage);
  // One role that ends by a fault ends the thread, and the service with it.
  await Promise.all(running).finally(() => stop.abort());
  await stores.close();
} catch (error) {
  logger.fatal({ err: error }, 'a role failed');
  port.postMessage({ type: 'failed', reason: (error as Error).message } satisfies ThreadMessage);
  process.exitCode = 1;
} finally {
  port.close();
}

async function run(role: Role, stores: Stores, role_logger: Logger, signal: AbortSignal): Promise<void> {
  const { log, documents, queue, blobs } = stores;
  const common = { log, queue, logger: role_logger, signal };
  if (role === 'projector') {
    const leases = await openLeases(documents);
    await runProjector({ ...common, documents, projections: ALL_PROJECTIONS, leases });
  } else if (role === 'processes') {
    const leases = await openLeases(documents);
    const readmodels = await openReadModels(documents);
    const [commands, credits] = [openJobs(log), openCredits(log)];
    await runProcesses({ ...common, readmodels, leases, blobs, commands, credits });
  } else if (role === 'checker') {
    const engine = createEngine({
      concurrency: config.checker_concurrency,
      per_host: config.checker_per_host,
      timeout_ms: config.checker_timeout_ms,
      retries: config.checker_retries,
      allow_addresses: config.checker_allow_addresses,
      user_agent: config.checker_user_agent,
    });
    try {
      await runWorker({ ...common, jobs: openJobs(log), engine, ack_wait_ms: config.checker_ack_wait_ms });
    } finally {
      await engine.close();
    }
  }
}
