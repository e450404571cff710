// Ids of jobs: uuid version 7 (RFC 9562, 5.7), which begin with the time. What the stores keep under the ids of jobs of one time
// lies on few pages.
import { randomUUID } from 'node:crypto';

const TIME_DIGITS = 12;

/**
 * Makes the id of a new job: 48 bits of time and 74 random bits. `now`: milliseconds since the epoch. `random`: a uuid version 4.
 * @example newJobId(1763950000000).slice(0, 15) // '019ab39c-f780-7'
 */
export function newJobId(now: number, random: string = randomUUID()): string {
  const time = Math.max(0, Math.trunc(now)).toString(16).padStart(TIME_DIGITS, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice('xxxxxxxx-xxxx-4'.length)}`;
}
