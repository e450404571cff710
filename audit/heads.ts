// Whether a signed head says what its note says, and is signed by a key that the auditor trusts.
import { NOWHERE } from './findings.ts';
import { parseCheckpoint, textOfNote } from './signed-note.ts';
import type { SignedHead } from './source.ts';

/** Returns what is wrong with the head; null for nothing. `trusted`: the keys that may sign; null: any. */
export function problemOfHead(
  { tree_size, root_hash, note, verifier }: SignedHead,
  trusted: readonly string[] | null,
): string | null {
  const keys = trusted ?? [verifier];
  const text = keys.map((key) => textOfNote(note, key)).find((signed) => signed !== null);
  if (text === undefined)
    return `the head of ${tree_size} entries is not signed by ${trusted ? 'a trusted' : 'its'} key`;
  const checkpoint = parseCheckpoint(text);
  if (checkpoint === null) return `the note of the head of ${tree_size} entries is no checkpoint`;
  if (checkpoint.tree_size === tree_size && checkpoint.root_hash === root_hash) return null;
  return `the head of ${tree_size} entries has a note of ${checkpoint.tree_size} entries under ${checkpoint.root_hash}`;
}

/**
 * A head that somebody has kept as a signed note; null for a text that is none. Its signature is not checked.
 * @example keptHead('not a note') // null
 */
export function keptHead(note: string): SignedHead | null {
  const checkpoint = parseCheckpoint(note);
  if (checkpoint === null) return null;
  const { tree_size, root_hash } = checkpoint;
  return { tree_size, root_hash, note, verifier: '', place: NOWHERE };
}
