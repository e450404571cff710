// Deterministic ids: a retry computes the same id from the same names. uuid version 5 (RFC 9562, 5.5).
import { hash } from 'node:crypto';

/** The hashed bytes: the namespace, which the next call mostly shares, and the name. */
let bytes = Buffer.alloc(256);
let namespace_of_bytes = '';
const NAMESPACE_BYTES = 16;

/**
 * The uuid v5 of a name within a namespace, itself a uuid.
 * @example uuidV5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com') // '2ed6657d-e927-568b-95e1-2665a8aea6a2': RFC 9562, A.4
 */
export function uuidV5(namespace: string, name: string): string {
  const most = NAMESPACE_BYTES + 3 * name.length;
  if (namespace !== namespace_of_bytes || most > bytes.length) {
    if (most > bytes.length) bytes = Buffer.alloc(most);
    bytes.write(namespace.replaceAll('-', ''), 'hex');
    namespace_of_bytes = namespace;
  }
  const end = NAMESPACE_BYTES + bytes.write(name, NAMESPACE_BYTES);
  const digest = hash('sha1', bytes.subarray(0, end), 'hex');
  const variant = ((Number.parseInt(digest[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** Id of the n-th event that a command appends to a stream. */
export const eventId = (command_id: string, stream: string, n: number) => uuidV5(command_id, `${stream}/${n}`);

/** Id of the `URLChecked` of `count` URLs from `from_index` on; with a mask, of those that it names. */
export const urlCheckedId = (job_id: string, from_index: number, count: number, mask = '') =>
  uuidV5(job_id, `${from_index}+${count}${mask && `/${mask}`}`);
