// Keeps streams and files where they are while a backup is written: a backup has the log up to one position, and a deletion that an event
// after that position asks for would take from it what its events speak of.

export interface Removals {
  /** Whether nothing may be removed now. */
  readonly are_held: boolean;
  /** Runs a removal, which a hold waits for. Call it only when removals are not held. */
  run<T>(remove: () => Promise<T>): Promise<T>;
  /** Runs `work` when the removals under way have ended; no other begins before its end. */
  holdWhile<T>(work: () => Promise<T>): Promise<T>;
}

export function openRemovals(): Removals {
  let holds = 0;
  const running = new Set<Promise<unknown>>();
  return {
    get are_held() {
      return holds > 0;
    },
    async run(remove) {
      const removing = remove();
      running.add(removing);
      try {
        return await removing;
      } finally {
        running.delete(removing);
      }
    },
    async holdWhile(work) {
      holds += 1;
      try {
        await Promise.allSettled(running);
        return await work();
      } finally {
        holds -= 1;
      }
    },
  };
}
