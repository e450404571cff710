// Whether a signed head says what its note says, is signed by a key that the auditor trusts, and is of this log.
import { originOf } from '../events/ledger-head.ts';
import type { LogForked } from '../events/service.ts';
import { NOWHERE } from './findings.ts';
import { parseCheckpoint, textOfNote } from './signed-note.ts';
import type { SignedHead } from './source.ts';

/** Returns what is wrong with the head; null for nothing. `trusted`: the keys that may sign; null: any. */
export function problemOfHead(
  { tree_size, root_hash, billing, note, verifier }: SignedHead,
  trusted: readonly string[] | null,
): string | null {
  const keys = trusted ?? [verifier];
  const text = keys.map((key) => textOfNote(note, key)).find((signed) => signed !== null);
  if (text === undefined)
    return `the head of ${tree_size} entries is not signed by ${trusted ? 'a trusted' : 'its'} key`;
  const checkpoint = parseCheckpoint(text);
  if (checkpoint === null) return `the note of the head of ${tree_size} entries is no checkpoint`;
  const is_same = checkpoint.tree_size === tree_size && checkpoint.root_hash === root_hash;
  const { size, root_hash: billing_root } = checkpoint.billing ?? {};
  if (is_same && billing?.size === size && billing?.root_hash === billing_root) return null;
  return `the head of ${tree_size} entries has another note: of ${checkpoint.tree_size} entries under ${checkpoint.root_hash}`;
}

/** Whether one of these keys has signed the head. */
export const isSignedBy = ({ note }: SignedHead, keys: readonly string[]): boolean =>
  keys.some((key) => textOfNote(note, key) !== null);

/**
 * A head that somebody has kept as a signed note; null for a text that is none. Its signature is not checked.
 * @example keptHead('not a note') // null
 */
export function keptHead(note: string): SignedHead | null {
  const checkpoint = parseCheckpoint(note);
  if (checkpoint === null) return null;
  const { tree_size, root_hash, billing } = checkpoint;
  return { tree_size, root_hash, billing, note, verifier: '', place: NOWHERE };
}

/**
 * The restore before which the log, under the name that the head has, went on to more than the backup has; null for none. What the head is of
 * is then in the lost log alone.
 */
export function restoreBefore({ note, tree_size, billing }: SignedHead, forks: readonly LogForked[]): LogForked | null {
  const origin = parseCheckpoint(note)?.origin;
  const fork = forks.find(({ from_log_id }) => originOf(from_log_id) === origin);
  if (fork === undefined) return null;
  const { ledger_entries, billing_events = Number.POSITIVE_INFINITY } = fork;
  return tree_size > ledger_entries || (billing?.size ?? 0) > billing_events ? fork : null;
}
