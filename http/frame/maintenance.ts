// Maintenance mode in http: which requests it refuses, and how a process learns that an administrator has turned it on or off.
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { MaintenanceMode, MaintenanceState } from '../../commands/maintenance.ts';
import { type HttpError, retryLater } from './errors.ts';
import { openGauge } from './metrics.ts';
import { repeatedly } from './repeatedly.ts';
import type { Caller, Route } from './route.ts';

/** Every process notices a change within a second: two looks and the reads. A look is one read of one event. */
const LOOK_MS = 400;
/** Nobody knows when maintenance ends. */
const RETRY_S = 60;

/** Commands of users change something by the will of a user. Webhooks, agencies and administrators are none. */
export const isCommandOfUsers = ({ method, access, is_always_open }: Refusable): boolean =>
  !is_always_open && method !== 'GET' && access !== 'admin' && access !== 'signature' && access !== 'shared-secret';

type Refusable = Pick<Route, 'method' | 'access' | 'is_always_open'>;

export const DEFAULT_MESSAGE =
  'The service is being maintained and takes no changes. Reading works, and running jobs continue.';

/** The 503 for commands of users. */
export const underMaintenance = (message: string): HttpError => retryLater(503, 'maintenance', message, RETRY_S);

export type Maintenance = Awaited<ReturnType<typeof openMaintenance>>;

/** Reads the mode before it resolves, so that no request is admitted in error. While the log is away the last known mode holds. */
export async function openMaintenance(
  mode: Pick<MaintenanceMode, 'read'>,
  { registry, logger, look_ms = LOOK_MS }: { registry: Registry; logger: Pick<Logger, 'info'>; look_ms?: number },
) {
  let current = await mode.read();
  /** Goes up with each change of this process's own, because a look that began before one knows less. */
  let changes = 0;
  function take(state: MaintenanceState): void {
    if (state?.message === current?.message && state?.started_at === current?.started_at) return;
    if ((state === null) !== (current === null)) logger.info({ maintenance: state }, 'maintenance mode has changed');
    current = state;
  }
  const stop = repeatedly(async () => {
    const began = changes;
    const state = await mode.read();
    if (changes === began) take(state);
  }, look_ms);
  const help = '1 while maintenance mode is on, otherwise 0.';
  openGauge(registry, { name: 'service_maintenance', help }, () => (current === null ? 0 : 1));
  return {
    /** What this process knows: null while maintenance mode is off. */
    get current(): MaintenanceState {
      return current;
    },
    /** Throws the 503 when the request is a command of a user and maintenance mode is on. */
    admit(route: Refusable, caller: Caller | null): void {
      if (current !== null && isCommandOfUsers(route) && caller?.is_admin !== true)
        throw underMaintenance(current.message);
    },
    /** Takes a change of this process's own at once. */
    changed(state: MaintenanceState): void {
      changes += 1;
      take(state);
    },
    close: stop,
  };
}
