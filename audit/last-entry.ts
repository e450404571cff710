// The proof that an entry was the last one at a time, of the whole ledger or of one user. The entry and the one after it are in the tree of a
// signed head, and nothing can be between them: they are neighbours in the tree, or the later one's hash names the earlier one's.
import { hash } from 'node:crypto';
import { canonicalJson } from '../events/canonical-json.ts';
import { hashedEntry } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { creditsStream, idOf } from '../events/streams.ts';
import { isIncluded, leafOf } from './merkle.ts';
import { proveInclusion } from './proofs.ts';
import { parseCheckpoint, textOfNote } from './signed-note.ts';
import { areStrings, entryOf, isAfter, type LedgerSource, type SignedHead } from './source.ts';

const KIND = 'url-checker-last-entry';

interface Included {
  leaf_index: number;
  proof: readonly string[];
  entry_hash: string;
  entry: ReturnType<typeof hashedEntry>;
}

export interface LastEntryProof {
  kind: typeof KIND;
  version: 1;
  /** ISO 8601. */
  as_of: string;
  /** Null: of the whole ledger. */
  user_id: string | null;
  /** The signed note, and the key that it names. */
  head: string;
  verifier: string;
  last: Included;
  /** Null where the ledger had no more entries when the head was signed, after `as_of`. */
  next: Included | null;
}

/** There is nothing to prove, or not yet. */
export class NotProvable extends Error {
  readonly code = 'not_provable';
}

interface Found {
  index: number;
  event: RecordedEvent;
}

interface Wanted {
  /** In milliseconds since the epoch. */
  time: number;
  /** Null: of the whole ledger. */
  user_id: string | null;
  /** The notes under one of which the proof has to be; null: any of the log. */
  kept: readonly string[] | null;
}

/** Throws `NotProvable`. */
export async function proveLastEntry(source: LedgerSource, { time, user_id, kept }: Wanted): Promise<LastEntryProof> {
  const as_of = new Date(time).toISOString();
  const { last, next } = await aroundTime(source, time, user_id);
  const whose = user_id === null ? 'the ledger' : user_id;
  if (last === null) throw new NotProvable(`${whose} has no entry up to ${as_of}`);
  const head = await headFor(source, { time, last, next, kept });
  const included = async ({ index, event }: Found): Promise<Included> => {
    const { proof } = await proveInclusion(source, index, head.tree_size);
    const entry = hashedEntry(await hashBefore(source, event), event);
    return { leaf_index: index, proof, entry_hash: entryOf(event).hash, entry };
  };
  return {
    ...{ kind: KIND, version: 1, as_of, user_id, head: head.note, verifier: head.verifier },
    ...{ last: await included(last), next: next && (await included(next)) },
  };
}

async function aroundTime(source: LedgerSource, time: number, user_id: string | null) {
  const stream = user_id === null ? null : creditsStream(user_id);
  let [index, last] = [0, null as Found | null];
  for await (const event of source.events(['credits'], null)) {
    if (stream === null || event.stream === stream) {
      const found = { index, event };
      if (isAfter(event, { time })) return { last, next: found };
      last = found;
    }
    index += 1;
  }
  return { last, next: null };
}

/** The first head that has both entries; without a later one, the head after the time that ends with the last. */
async function headFor(
  source: LedgerSource,
  { time, last, next, kept }: Pick<Wanted, 'time' | 'kept'> & { last: Found; next: Found | null },
): Promise<SignedHead> {
  for await (const head of source.heads(null)) {
    if (kept !== null && !kept.includes(head.note)) continue;
    if (next !== null && head.tree_size > next.index) return head;
    if (next === null && head.tree_size === last.index + 1 && (signedAt(head.note) ?? 0) > time) return head;
  }
  throw new NotProvable(
    next === null
      ? 'no entry came later, and no head that was signed later ends with the last one: `ledger verify --as-of` replays the whole ledger'
      : `${kept === null ? 'no signed head' : 'no head that you name, of those in the log,'} has the entry after it`,
  );
}

async function hashBefore(source: LedgerSource, { stream, revision }: RecordedEvent): Promise<string> {
  let previous = '';
  for await (const event of source.entriesOf(idOf(stream), null)) {
    if (event.revision === revision) break;
    previous = entryOf(event).hash;
  }
  return previous;
}

/** In milliseconds since the epoch; null where the note does not say it. */
function signedAt(note: string): number | null {
  const [, at] = /^signed at (\S{1,40})$/m.exec(note) ?? [];
  return at === undefined ? null : Date.parse(at);
}

/**
 * What is wrong with the proof; nothing where it holds. `trusted`: the keys that may have signed the head; null: the one that the proof names.
 * `kept`: heads of which the proof's own has to be one; null: any.
 */
export function problemsOf(
  proof: LastEntryProof,
  trusted: readonly string[] | null,
  kept: readonly string[] | null,
): string[] {
  const { head, verifier, last, next, user_id } = proof;
  const text = (trusted ?? [verifier]).map((key) => textOfNote(head, key)).find((signed) => signed !== null);
  const checkpoint = text === undefined ? null : parseCheckpoint(text!);
  if (checkpoint === null) return [`the head is not signed by ${trusted ? 'a trusted' : 'its'} key`];
  const time = Date.parse(proof.as_of);
  const at = ({ entry }: Included) => Date.parse(entry.metadata.at);
  const { tree_size } = checkpoint;
  const root = Buffer.from(checkpoint.root_hash, 'hex');
  const problems: string[] = [];
  const need = (holds: boolean, problem: string) => holds || problems.push(problem);
  need(kept === null || kept.includes(head), 'the head is none of those that you have kept');
  for (const [name, each] of [
    ['last', last],
    ['next', next],
  ] as const) {
    if (each === null) continue;
    need(
      each.entry_hash === hash('sha256', canonicalJson(each.entry)),
      `the hash of the ${name} entry is not computed from it`,
    );
    const hashes = each.proof.map((hex) => Buffer.from(hex, 'hex'));
    need(
      isIncluded(leafOf(each.entry_hash), each.leaf_index, tree_size, hashes, root),
      `the ${name} entry is not under the head`,
    );
  }
  need(at(last) <= time, `the last entry is of ${last.entry.metadata.at}`);
  if (user_id !== null) need(last.entry.stream === creditsStream(user_id), `the last entry is not of ${user_id}`);
  if (next === null) {
    need(tree_size === last.leaf_index + 1, 'the head has entries after the last one');
    need((signedAt(text!) ?? 0) > time, 'the head was signed before that time');
    return problems;
  }
  need(at(next) > time, `the next entry is of ${next.entry.metadata.at}`);
  const is_adjacent =
    user_id === null
      ? next.leaf_index === last.leaf_index + 1
      : next.entry.stream === last.entry.stream && next.entry.previous === last.entry_hash;
  need(is_adjacent, 'there may be entries between the last one and the next');
  return problems;
}

/**
 * Throws where the text is no such proof.
 * @example parseLastEntryProof('{}') // throws
 */
export function parseLastEntryProof(text: string): LastEntryProof {
  const proof = JSON.parse(text) as LastEntryProof;
  const { kind, version, as_of, head, verifier, last, next } = proof;
  const is_proof = kind === KIND && version === 1 && areStrings(as_of, head, verifier);
  if (!is_proof || !isIncludedEntry(last) || (next !== null && !isIncludedEntry(next)))
    throw new TypeError('it is no proof of a last entry');
  return proof;
}

const isIncludedEntry = ({ proof, entry_hash, entry }: Included): boolean =>
  areStrings(...proof, entry.stream, entry.metadata.at) && /^[0-9a-f]{64}$/.test(entry_hash);
