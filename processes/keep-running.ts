// A part of the processes runs for as long as they do, whatever it throws.
import type { Logger } from 'pino';
import type { Work } from '../roles/holding.ts';
import { backOff } from '../time/pause.ts';

const LONGEST_PAUSE_MS = 5_000;

/** Runs a part until `signal` aborts. Logs its errors and starts it again with back-off, until a pass succeeds. */
export async function keepRunning(
  part: string,
  run: (onPass: () => void) => Promise<void>,
  logger: Logger,
  signal: AbortSignal,
  work?: Work,
): Promise<void> {
  let failures = 0;
  const onPass = () => {
    failures = 0;
    work?.done();
  };
  while (!signal.aborted) {
    try {
      await run(onPass);
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      work?.failed('the dispatcher failed and will run again');
      logger.error({ err: error, part, failures }, 'a part of the processes failed; it will run again');
      await backOff(failures, LONGEST_PAUSE_MS, signal);
    }
  }
}
