// Whether this machine, its container or this thread's heap is short of memory.
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** The shares below which memory is short: of the machine's or the container's, and of the heap. */
const LEAST_AVAILABLE = 0.1;
const LEAST_OF_HEAP = 0.2;
const LOOK_AGAIN_MS = 1000;

/** Returns a function that says whether memory is short; it asks the system once a second. */
export function watchMemory(now: () => number): () => boolean {
  let looked_at = Number.NEGATIVE_INFINITY;
  let is_short = false;
  return () => {
    if (now() - looked_at < LOOK_AGAIN_MS) return is_short;
    looked_at = now();
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    const limit_bytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
    is_short =
      process.availableMemory() < LEAST_AVAILABLE * limit_bytes ||
      heap_size_limit - used_heap_size < LEAST_OF_HEAP * heap_size_limit;
    return is_short;
  };
}
