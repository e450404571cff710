// Documents whose owner can be stopped before or after any of its transactions, as a process is that sleeps there.
import type { Documents } from '../../readmodels/documents.ts';

export interface StoppedDocuments {
  documents: Documents;
  /** Resolves when the place was reached. */
  stopped: Promise<void>;
  goOn(): void;
}

/** `place`: 0 is before the first transaction, 1 after it, 2 before the second, and so on. */
export function stoppedAt(documents: Documents, place: number): StoppedDocuments {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let places = 0;
  async function pass(): Promise<void> {
    if (places++ !== place) return;
    reached.resolve();
    await released.promise;
  }
  const stopping: Documents = {
    collection: (spec) => documents.collection(spec),
    reading: (spec) => documents.reading(spec),
    drop: (name) => documents.drop(name),
    names: () => documents.names(),
    identities: () => documents.identities(),
    watch: (name, changed) => documents.watch(name, changed),
    is_concurrent: documents.is_concurrent,
    client: documents.client,
    endTransactionsOf: (client) => documents.endTransactionsOf(client),
    close: () => documents.close(),
    async transaction(fn) {
      await pass();
      const result = await documents.transaction(fn);
      await pass();
      return result;
    },
  };
  return { documents: stopping, stopped: reached.promise, goOn: () => released.resolve() };
}
