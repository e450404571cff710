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
