// Gives a thread's memory back when the thread has little to do. V8 collects a heap when something is allocated, so that an idle thread
// keeps the garbage of its last work; and of a heap that shrank it keeps the pages. See docs/decisions/0128-memory-comes-back.md.
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

const LOOK_MS = 5_000;
/** The least time between two collections: one takes 10 to 150 ms. */
const SPACING_MS = 30_000;
/** The share of its time in which an idle thread's event loop works. */
const IDLE_SHARE = 0.2;
/** A heap that has never been larger than this stays as it is. */
const SMALL_BYTES = 80 * 2 ** 20;

export interface IdleMemoryOptions {
  /** The size of the heap in bytes. */
  heapBytes?: () => number;
  /** The share of the time since the last call in which the event loop worked. */
  share?: () => number;
  collect?: () => Promise<void>;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

export class IdleMemory {
  readonly #heapBytes: () => number;
  readonly #share: () => number;
  readonly #collect: () => Promise<void>;
  readonly #monotonic: () => number;
  /** The largest heap since the last collection: V8 still has its pages. */
  #largest_bytes = 0;
  #collected_at = Number.NEGATIVE_INFINITY;

  constructor(options: IdleMemoryOptions = {}) {
    const { heapBytes = () => getHeapStatistics().total_heap_size, share = shareOfLoop() } = options;
    this.#heapBytes = heapBytes;
    this.#share = share;
    this.#collect = options.collect ?? collectGarbage;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /** Collects the garbage where the thread is idle and its heap was large. Call it every few seconds. */
  async look(): Promise<void> {
    this.#largest_bytes = Math.max(this.#largest_bytes, this.#heapBytes());
    const is_idle = this.#share() < IDLE_SHARE;
    const now = this.#monotonic();
    if (!is_idle || this.#largest_bytes < SMALL_BYTES || now - this.#collected_at < SPACING_MS) return;
    this.#collected_at = now;
    this.#largest_bytes = 0;
    await this.#collect();
  }
}

/** Looks after the memory of this thread. Returns a function that ends it. */
export function giveMemoryBack(): () => void {
  const memory = new IdleMemory();
  const timer = setInterval(() => void memory.look().catch(() => {}), LOOK_MS).unref();
  return () => clearInterval(timer);
}

/** Collects all garbage of this thread, and gives the pages that V8 keeps back to the system. Blocks the thread meanwhile. */
export async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}

function shareOfLoop(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
