// Writes structured logs: one JSON object for each line, to standard output or a file, from any thread.
import { isMainThread } from 'node:worker_threads';
import { type Logger, pino } from 'pino';
import type { Config } from '../settings/config.ts';

/** On a full disk up to this many characters wait; further lines are lost. */
const MAX_KEPT_CHARS = 1_000_000;
/** The lines of this time, or of so many characters, are written together: a write costs a fifth of a small request. */
const TOGETHER_MS = 10;
const TOGETHER_CHARS = 64 * 1024;

export function openLogger(config: Config): Logger {
  return pino(
    { level: config.log_level, timestamp: timestamps(), base: { pid: process.pid } },
    isMainThread ? writtenTogether(config) : openDestination(config),
  );
}

/** The last writes of this process, one for each of its loggers. */
const at_exit: (() => void)[] = [];
const flushAll = () => {
  for (const flush of at_exit) flush();
};

/** In other threads each line is written at once: who ends a thread gives it no time for a last write. */
function openDestination({ log_file }: Config) {
  const to = log_file ? { dest: log_file, append: true, mkdir: true } : { dest: 1 };
  const destination = pino.destination({ ...to, sync: true, maxLength: MAX_KEPT_CHARS });
  // On a full disk the service goes on, and writes the waiting lines when there is room.
  destination.on('error', () => {});
  return destination;
}

/** No line is lost when the process exits or throws. A fatal line is written at once, with those before it. */
function writtenTogether(config: Config) {
  const destination = openDestination(config);
  let lines = '';
  const flush = () => {
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  if (at_exit.push(flush) === 1) process.on('exit', flushAll);
  return {
    write(line: string) {
      if (lines === '') setTimeout(flush, TOGETHER_MS).unref();
      lines += line;
      if (lines.length >= TOGETHER_CHARS) flush();
    },
    flushSync: flush,
  };
}

/** The time of a line as a field of its JSON. Lines of one millisecond share the text. */
function timestamps(): () => string {
  let at = 0;
  let field = '';
  return () => {
    const now = Date.now();
    if (now !== at) field = `,"time":"${new Date(now).toISOString()}"`;
    at = now;
    return field;
  };
}
