// The second Merkle tree: the events of payments and subscriptions, in the order of the log. They have no hash of their own, so a leaf is of the
// whole event as the log holds it, with sealed fields sealed: an erasure changes no leaf.
import { hash } from 'node:crypto';
import { canonicalJson } from '../events/canonical-json.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { leafOf } from './merkle.ts';

/** Of an event behind no codec. */
export function leafOfBilled({ stream, revision, id, type, data, metadata }: RecordedEvent): Buffer {
  return leafOf(hash('sha256', canonicalJson({ stream, revision, id, type, data, metadata }), 'hex'));
}
