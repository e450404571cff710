// Which checker asks a host. A hash gives each host to one of a fixed number of partitions, and rendezvous hashing gives each partition to
// one of the living checkers, so that all who know these agree, and few partitions move when a checker joins or leaves. Pure.
import { LRUCache } from 'lru-cache';

/** Many more than checkers, so that their shares of the hosts differ little. */
export const PARTITIONS = 1024;
/** Hosts whose partition is remembered. */
const KEPT_HOSTS = 20_000;

const kept = new LRUCache<string, number>({ max: KEPT_HOSTS });

/**
 * The partition of a host name, as `URL.hostname` has it. `www.example.com` is asked by whoever asks `example.com`, which often redirects there.
 * @example partitionOf('www.example.com') === partitionOf('example.com') // true
 */
export function partitionOf(host: string): number {
  const known = kept.get(host);
  if (known !== undefined) return known;
  const partition = hash(host.startsWith('www.') ? host.slice(4) : host, '') % PARTITIONS;
  kept.set(host, partition);
  return partition;
}

/**
 * Returns the checker of each partition. `ids` in any order; each gets as many partitions as the others, or one less.
 * @example assignPartitions(['a']).every((id) => id === 'a') // true
 */
export function assignPartitions(ids: readonly string[]): string[] {
  const most = Math.ceil(PARTITIONS / ids.length);
  const counts = new Map(ids.map((id) => [id, 0]));
  return Array.from({ length: PARTITIONS }, (_, partition) => {
    let first: string | undefined;
    let highest = -1;
    for (const id of ids) {
      if (counts.get(id)! >= most) continue;
      const rank = hash(id, String(partition));
      if (rank < highest || (rank === highest && id < first!)) continue;
      highest = rank;
      first = id;
    }
    counts.set(first!, counts.get(first!)! + 1);
    return first!;
  });
}

/** FNV-1a over both texts, with the final mix of MurmurHash3, without which the last characters would count too little. */
function hash(first: string, second: string): number {
  let h = 0x811c9dc5;
  for (const text of [first, second]) {
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
