// Structured logs: one JSON object a line, to standard output or to a file, from any thread.
import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

export function openLogger(config: Config): Logger {
  const to = config.log_file ? { dest: config.log_file, append: true, mkdir: true } : { dest: 1 };
  return pino(
    { level: config.log_level, timestamp: pino.stdTimeFunctions.isoTime, base: { pid: process.pid } },
    pino.destination({ ...to, sync: true }),
  );
}
