// What is whose, when several checkers are alive: the parts of a host's limit, and who asks a folder. Each computes its own from
// the same facts, and together they make the whole. Pure.
import assert from 'node:assert';

/**
 * Of `limit` requests at once to `host`, how many are `me`'s. `alive` has every checker's id, `me` among them, in any
 * order; its parts sum to `limit`. Where there are more checkers than requests, some have none in this `turn` and one in
 * another: each has its own in any `ceil(alive / limit)` turns that follow one another.
 */
export function partOf(host: string, me: string, alive: readonly string[], limit: number, turn: number): number {
  const count = alive.length;
  const rest = limit % count;
  const whole = (limit - rest) / count;
  if (rest === 0) return whole;
  // The rank by a hash of both (rendezvous hashing): who has the more of one host has the less of another.
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

/** Whether a key belongs to `me`: to exactly one of those alive. */
export function owns(me: string, key: string, alive: readonly string[]): boolean {
  return partOf(key, me, alive, 1, 0) === 1;
}

/** FNV-1a over both, mixed at its end as in MurmurHash3, whose last letters would count too little without. */
function hash(key: string, id: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193);
  for (let i = 0; i < id.length; i++) h = Math.imul(h ^ id.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
