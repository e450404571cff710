// Holds the events of payments and subscriptions to the signed heads that are of them.
import type { RecordedEvent } from '../events/event-store.ts';
import { leafOfBilled } from './billing-leaf.ts';
import type { Place, ReportFinding } from './findings.ts';
import { GrowingTree } from './merkle.ts';
import type { TreeHead } from './signed-note.ts';
import type { KnownHead } from './types.ts';

/** Goes on from the tree that an earlier audit has left. */
export function openBillingTree(
  from: { size: number; frontier: readonly string[] },
  heads: readonly KnownHead[],
  say: ReportFinding,
) {
  const tree = GrowingTree.from(from.size, from.frontier);
  const known = heads
    .flatMap(({ billing, place }): (TreeHead & { place: Place })[] => (billing ? [{ ...billing, place }] : []))
    .filter(({ size }) => size > tree.size)
    .sort((a, b) => a.size - b.size);
  let next = 0;

  function take(event: RecordedEvent): void {
    tree.add(leafOfBilled(event));
    for (; known[next]?.size === tree.size; next += 1) {
      const root = tree.root().toString('hex');
      const { root_hash, size, place } = known[next]!;
      if (root === root_hash) continue;
      const message = `the root of the first ${size} events of payments and subscriptions is ${root}, the head says ${root_hash}`;
      say('head', place, message);
    }
  }
  /** May be called at any time, and again. */
  function finish(): void {
    for (const { size, place } of known.slice(next))
      say('head', place, `the head is of ${size} events of payments and subscriptions, but there are ${tree.size}`);
  }
  return { tree, take, finish };
}
