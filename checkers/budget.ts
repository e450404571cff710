// How live checkers divide a host's limit, and which of them probes a folder. Each checker computes its own share from the
// same facts, and the shares sum to the whole. Pure.
import assert from 'node:assert';

/**
 * The share of `me` in `limit` concurrent requests to `host`. `alive` has the id of every live checker, `me` included, in any
 * order; their shares sum to `limit`. With more checkers than requests, a checker has a share of 0 in some turns: in any
 * `ceil(alive.length / limit)` consecutive turns each checker has one turn with a share of 1.
 * @example shareOf('example.com', 'a', ['a', 'b'], 10, 0) // 5
 */
export function shareOf(host: string, me: string, alive: readonly string[], limit: number, turn: number): number {
  const count = alive.length;
  const rest = limit % count;
  const whole = (limit - rest) / count;
  if (rest === 0) return whole;
  // The rank by a hash of host and id (rendezvous hashing) spreads the larger shares of different hosts over the checkers.
  const mine = hash(host, me);
  let rank = 0;
  let found = false;
  for (const id of alive) {
    if (id === me) {
      found = true;
      continue;
    }
    const theirs = hash(host, id);
    if (theirs > mine || (theirs === mine && id > me)) rank++;
  }
  assert(found);
  const turned = whole === 0 ? (rank + (turn % count) * limit) % count : rank;
  return turned < rest ? whole + 1 : whole;
}

/** Whether `me` owns a key. Exactly one live checker does. */
export function owns(me: string, key: string, alive: readonly string[]): boolean {
  return shareOf(key, me, alive, 1, 0) === 1;
}

/** FNV-1a over key and id, with the final mix of MurmurHash3, without which the last characters would count too little. */
function hash(key: string, id: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193);
  for (let i = 0; i < id.length; i++) h = Math.imul(h ^ id.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
