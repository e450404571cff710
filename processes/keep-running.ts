// A process manager runs for as long as the role does, whatever it throws.
import type { Logger } from 'pino';
import { isOfStore } from '../events/store-faults.ts';
import type { Work } from '../roles/holding.ts';
import { MANAGERS, type ManagerName } from '../roles/managers.ts';
import { backOff } from '../time/pause.ts';
import type { ManagerWatch } from './manager-watch.ts';

const LONGEST_PAUSE_MS = 5_000;

/** The managers that wait for a store. It is away for all of them, so one line tells of it, and one of its return. */
export class StoreWaits {
  readonly #waiting = new Set<ManagerName>();
  readonly #logger: Pick<Logger, 'info' | 'warn'>;

  constructor(logger: Pick<Logger, 'info' | 'warn'>) {
    this.#logger = logger;
  }

  began(name: ManagerName, error: unknown): void {
    if (this.#waiting.size === 0)
      this.#logger.warn({ err: error, manager: name }, 'process managers wait for a store, and run again');
    this.#waiting.add(name);
  }

  ended(name: ManagerName): void {
    if (this.#waiting.delete(name) && this.#waiting.size === 0) this.#logger.info('no process manager waits any more');
  }
}

/** Runs a manager until `signal` aborts. Logs its errors and starts it again with back-off, until a pass succeeds. `work`: its role's work stands with it. */
export async function keepRunning(
  watch: ManagerWatch,
  run: (onPass: () => void) => Promise<void>,
  { logger, waits, signal, work }: { logger: Logger; waits: StoreWaits; signal: AbortSignal; work?: Work },
): Promise<void> {
  let failures = 0;
  const { name } = watch;
  const onPass = () => {
    failures = 0;
    waits.ended(name);
    watch.passed();
    work?.done();
  };
  while (!signal.aborted) {
    try {
      await run(onPass);
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      watch.failed(error);
      work?.failed(`${name} fails and will run again: ${MANAGERS[name].stands}`);
      if (isOfStore(error)) waits.began(name, error);
      else logger.error({ err: error, manager: name, failures }, 'a process manager failed; it will run again');
      await backOff(failures, LONGEST_PAUSE_MS, signal);
    }
  }
}
