// Writes structured logs: one JSON object for each line, to standard output or a file, from any thread.
import { type Logger, pino } from 'pino';
import type { Config } from '../settings/config.ts';

/** On a full disk up to this many characters wait; further lines are lost. */
const MAX_KEPT_CHARS = 1_000_000;

export function openLogger(config: Config): Logger {
  const to = config.log_file ? { dest: config.log_file, append: true, mkdir: true } : { dest: 1 };
  const destination = pino.destination({ ...to, sync: true, maxLength: MAX_KEPT_CHARS });
  // On a full disk the service goes on, and writes the waiting lines when there is room.
  destination.on('error', () => {});
  return pino(
    { level: config.log_level, timestamp: pino.stdTimeFunctions.isoTime, base: { pid: process.pid } },
    destination,
  );
}
