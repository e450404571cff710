// A process manager runs for as long as the role does, whatever it throws.
import type { Logger } from 'pino';
import type { Work } from '../roles/holding.ts';
import { MANAGERS } from '../roles/managers.ts';
import { backOff } from '../time/pause.ts';
import type { ManagerWatch } from './manager-watch.ts';

const LONGEST_PAUSE_MS = 5_000;

/** Runs a manager until `signal` aborts. Logs its errors and starts it again with back-off, until a pass succeeds. `work`: its role's work stands with it. */
export async function keepRunning(
  watch: ManagerWatch,
  run: (onPass: () => void) => Promise<void>,
  { logger, signal, work }: { logger: Logger; signal: AbortSignal; work?: Work },
): Promise<void> {
  let failures = 0;
  const { name } = watch;
  const onPass = () => {
    failures = 0;
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
      logger.error({ err: error, manager: name, failures }, 'a process manager failed; it will run again');
      await backOff(failures, LONGEST_PAUSE_MS, signal);
    }
  }
}
