// How many files this process may have open.
import { readFileSync } from 'node:fs';

/** The open-file limit of the process; infinity when the system does not say. */
export function openFilesAllowed(read = () => readFileSync('/proc/self/limits', 'utf8')): number {
  try {
    const found = /^Max open files +(\d+)/m.exec(read())?.[1];
    return found === undefined ? Number.POSITIVE_INFINITY : Number(found);
  } catch {
    return Number.POSITIVE_INFINITY; // not Linux
  }
}

/** The requests that a checker always may have in flight, unless its settings say fewer. */
const LEAST_IN_FLIGHT = 256;
/** Connections that wait for their host's next URL, and the rest of the process, need files too. */
const FILES_A_REQUEST = 8;

/**
 * The most requests that a checker has in flight: a fixed number, or a limit that heeds the open files.
 * @example mostInFlight({ concurrency_limit: 4096 }, 8192) // 1024
 */
export function mostInFlight(
  { concurrency, concurrency_limit }: { concurrency?: number | null | undefined; concurrency_limit: number },
  open_files = openFilesAllowed(),
): number {
  return (
    concurrency ?? Math.min(concurrency_limit, Math.max(LEAST_IN_FLIGHT, Math.floor(open_files / FILES_A_REQUEST)))
  );
}
