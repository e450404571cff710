// Work that failed is left alone for a while, so that it holds up no other.

/** Work that failed is tried again after this long. */
const AGAIN_MS = 5 * 60_000;
/** A read finds 10,000 documents at the most. */
const MOST_COUNTED = 9_900;

export interface PutOff {
  /** Call it at the begin of a pass. Returns how many are put off, 9,900 at the most. */
  count(): number;
  has(id: string): boolean;
  add(id: string): void;
}

/** `monotonic`: milliseconds that never go back. */
export function openPutOff(monotonic: () => number): PutOff {
  const again_at = new Map<string, number>();
  return {
    count() {
      const now = monotonic();
      for (const [id, at] of again_at) if (at <= now) again_at.delete(id);
      return Math.min(again_at.size, MOST_COUNTED);
    },
    has: (id) => again_at.has(id),
    add: (id) => void again_at.set(id, monotonic() + AGAIN_MS),
  };
}
