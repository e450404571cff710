// Signed notes and checkpoints of transparency logs (c2sp.org/signed-note, c2sp.org/tlog-checkpoint), which other programs verify, such as
// Go's golang.org/x/mod/sumdb/note. Signatures are Ed25519.
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { derivedKey } from '../events/derived-key.ts';

const ED25519 = 1;
const KEY_BYTES = 32;
/** Before a private key in PKCS #8, and a public key in SPKI. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

export type NoteSigner = ReturnType<typeof openNoteSigner>;

/**
 * The signer whose key derives from `secret`. `name` has neither spaces nor `+`.
 * @example openNoteSigner('ledger', Buffer.from('secret')).verifier.split('+')[0] // 'ledger'
 */
export function openNoteSigner(name: string, secret: Uint8Array) {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8, derivedKey(secret, 'ledger heads')]),
    format: 'der',
    type: 'pkcs8',
  });
  const public_key = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI.length);
  const id = keyId(name, public_key);
  return {
    /** What verifiers need: `name+id+key`. It is public. */
    verifier: `${name}+${id.toString('hex')}+${Buffer.concat([Buffer.of(ED25519), public_key]).toString('base64')}`,
    /** Signs a text that ends with a line end. */
    sign(text: string): string {
      const signature = Buffer.concat([id, sign(null, Buffer.from(text), key)]);
      return `${text}\n— ${name} ${signature.toString('base64')}\n`;
    },
  };
}

const keyId = (name: string, public_key: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), public_key]), 'buffer').subarray(0, 4);

/**
 * Returns the text of a note with a signature of the verifier's key; null when it has none.
 * @example textOfNote('ledger\n1\n', 'no verifier') // null
 */
export function textOfNote(note: string, verifier: string): string | null {
  const known = parseVerifier(verifier);
  const end = note.lastIndexOf('\n\n');
  if (known === null || end < 0) return null;
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2).split('\n');
  if (lines.pop() !== '') return null;
  const prefix = `— ${known.name} `;
  const is_signed = lines.some((line) => {
    if (!line.startsWith(prefix)) return false;
    const signature = Buffer.from(line.slice(prefix.length), 'base64');
    return (
      signature.subarray(0, 4).equals(known.id) && verify(null, Buffer.from(text), known.key, signature.subarray(4))
    );
  });
  return is_signed ? text : null;
}

/**
 * The notes of a text that holds several one after the other, as a witness keeps them: a note that was cut off ends with two empty lines.
 * @example notesIn('a\n\n— k x\n\nb\n\n— k y\n') // ['a\n\n— k x\n', 'b\n\n— k y\n']
 */
export function notesIn(text: string): string[] {
  const notes: string[] = [];
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const is_signature = line.startsWith('— ');
    if (lines.at(-1)?.startsWith('— ') && !is_signature) {
      notes.push(`${lines.join('\n')}\n`);
      lines = [];
    }
    if (line === '' && lines.at(-1) === '') lines = [];
    else if (line !== '' || lines.length > 0) lines.push(line);
  }
  return notes;
}

/** Whether the text is a public key: `name+id+key`. */
export const isVerifier = (text: string): boolean => parseVerifier(text) !== null;

function parseVerifier(verifier: string): { name: string; id: Buffer; key: KeyObject } | null {
  // The key is in base64, which may have a `+` of its own.
  const [name, id, ...encoded] = verifier.split('+');
  if (!name || !id) return null;
  const bytes = Buffer.from(encoded.join('+'), 'base64');
  const public_key = bytes.subarray(1);
  if (bytes[0] !== ED25519 || public_key.length !== KEY_BYTES || keyId(name, public_key).toString('hex') !== id)
    return null;
  return {
    name,
    id: Buffer.from(id, 'hex'),
    key: createPublicKey({ key: Buffer.concat([SPKI, public_key]), format: 'der', type: 'spki' }),
  };
}

export interface Checkpoint {
  /** Tells the log from others. */
  origin: string;
  tree_size: number;
  /** In hex. */
  root_hash: string;
  /** When it was signed, in ISO 8601: an extension line. */
  signed_at: string;
  /** The tree of payments and subscriptions: an extension line. Absent in notes of earlier services. */
  billing?: TreeHead;
}

export interface TreeHead {
  size: number;
  /** In hex. */
  root_hash: string;
}

const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');

export function checkpointText({ origin, tree_size, root_hash, signed_at, billing }: Checkpoint): string {
  const of_billing = billing ? `billing ${billing.size} ${base64(billing.root_hash)}\n` : '';
  return `${origin}\n${tree_size}\n${base64(root_hash)}\nsigned at ${signed_at}\n${of_billing}`;
}

const BILLING = /^billing (\d{1,15}) ([A-Za-z0-9+/]{43}=)$/m;

/**
 * Null for a text that is no checkpoint.
 * @example parseCheckpoint('not a checkpoint') // null
 */
export function parseCheckpoint(text: string): Omit<Checkpoint, 'signed_at'> | null {
  const [origin, size, root] = text.split('\n');
  const tree_size = Number(size);
  const bytes = Buffer.from(root ?? '', 'base64');
  if (!origin || !size || !Number.isSafeInteger(tree_size) || tree_size < 0 || bytes.length !== 32) return null;
  const [, billed, billed_root] = BILLING.exec(text.split('\n\n', 1)[0]!) ?? [];
  const billing = { size: Number(billed), root_hash: Buffer.from(billed_root ?? '', 'base64').toString('hex') };
  return { origin, tree_size, root_hash: bytes.toString('hex'), ...(billed && { billing }) };
}
