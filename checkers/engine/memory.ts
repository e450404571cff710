// Whether this machine, its container or this thread's heap is short of memory.
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** The shares below which memory is short: of the machine's or the container's, and of the heap. */
const LEAST_AVAILABLE = 0.1;
const LEAST_OF_HEAP = 0.2;
const LOOK_AGAIN_MS = 1000;

export interface MemoryFigures {
  available_bytes: number;
  /** All memory of the machine, or of its container. */
  limit_bytes: number;
  heap_used_bytes: number;
  heap_limit_bytes: number;
}

function figuresNow(): MemoryFigures {
  const { used_heap_size: heap_used_bytes, heap_size_limit: heap_limit_bytes } = getHeapStatistics();
  const limit_bytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
  return { available_bytes: process.availableMemory(), limit_bytes, heap_used_bytes, heap_limit_bytes };
}

/** Returns a function that says whether memory is short; it asks the system once a second. */
export function watchMemory(now: () => number, figures = figuresNow): () => boolean {
  let looked_at = Number.NEGATIVE_INFINITY;
  let is_short = false;
  return () => {
    if (now() - looked_at < LOOK_AGAIN_MS) return is_short;
    looked_at = now();
    const { available_bytes, limit_bytes, heap_used_bytes, heap_limit_bytes } = figures();
    is_short =
      available_bytes < LEAST_AVAILABLE * limit_bytes ||
      heap_limit_bytes - heap_used_bytes < LEAST_OF_HEAP * heap_limit_bytes;
    return is_short;
  };
}
