// Personal fields of events. The log holds them sealed (AES-256-GCM) under a key of the user or of the job. Destroying the key
// erases them from every event, also from streams that stay.
import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto';
import { derivedSecretKey } from './derived-key.ts';
import type { TSchema } from './schema.ts';
import { idOf, type PersonalSubject } from './streams.ts';

/** What a required text reads as when its key is destroyed; a nullable one reads as null. */
export const ERASED = '[erased]';

/** A symbol, so that documents and validators of the schemas do not meet it. */
const MARK = Symbol('personal');
type Whose = 'user' | 'job' | 'endpoint';

/**
 * Marks a top-level text field of an event, nullable or not. `whose` key seals it: the user's, the job's, which goes with the job, or the
 * webhook endpoint's, which goes with the endpoint.
 * @example event({ email: personal(Nullable(Type.String()), 'user') })
 */
export const personal = <Schema extends TSchema>(schema: Schema, whose: Whose): Schema => ({
  ...schema,
  [MARK]: whose,
});

export interface PersonalField {
  name: string;
  whose: Whose;
  erased: string | null;
}

/** The marked fields of an event's properties. */
export function personalFields(properties: Readonly<Record<string, TSchema>>): PersonalField[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const whose = (schema as { [MARK]?: Whose })[MARK];
    if (whose === undefined) return [];
    const is_nullable = 'anyOf' in schema;
    return [{ name, whose, erased: is_nullable ? null : ERASED }];
  });
}

/** Whose key seals a field: the data names the user, or the stream's name does. */
export function subjectOf(stream: string, data: unknown, whose: Whose): PersonalSubject {
  if (whose === 'job') return `job/${idOf(stream)}`;
  const { owner_id, user_id, endpoint_id } = data as { owner_id?: string; user_id?: string; endpoint_id?: string };
  if (whose === 'endpoint') return `endpoint/${endpoint_id ?? idOf(stream)}`;
  return `user/${owner_id ?? user_id ?? idOf(stream)}`;
}

/**
 * A sealed text is base64url of a 12-byte IV, a 16-byte tag and the ciphertext. Version 2 encrypts, and makes the IV, each under a key of
 * its own that derives from the subject's; version 1, which is only opened, used the subject's key for both.
 */
const VERSION_1 = 'sealed:1:';
const VERSION_2 = 'sealed:2:';
const CIPHER = 'aes-256-gcm';
const [IV_BYTES, TAG_BYTES] = [12, 16];

export const isSealed = (value: unknown): value is string =>
  typeof value === 'string' && (value.startsWith(VERSION_2) || value.startsWith(VERSION_1));

interface SealKeys {
  encryption: KeyObject;
  iv: KeyObject;
}

/** A subject's events are read together, so its keys are derived once. */
const derived = new WeakMap<Uint8Array, SealKeys>();

function sealKeys(key: Uint8Array): SealKeys {
  let keys = derived.get(key);
  if (!keys) {
    keys = { encryption: derivedSecretKey(key, 'seals: encryption'), iv: derivedSecretKey(key, 'seals: IV') };
    derived.set(key, keys);
  }
  return keys;
}

/**
 * Seals a text for its `place`, which tells it from every other text under the key; a sealed text opens at no other place. The same
 * text at the same place is sealed to the same bytes, so that a repeated append repeats its event.
 */
export function seal(key: Uint8Array, place: string, text: string): string {
  const keys = sealKeys(key);
  const iv = createHmac('sha256', keys.iv).update(`${place}\0${text}`).digest().subarray(0, IV_BYTES);
  const cipher = createCipheriv(CIPHER, keys.encryption, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return VERSION_2 + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** The text is not as it was sealed. */
export class UnopenedText extends Error {
  readonly code = 'unopened_text';
}

/** Opens a sealed text; throws `UnopenedText` when the key or the place is another one, or a byte was changed. */
export function unseal(key: Uint8Array, place: string, sealed: string): string {
  try {
    const encryption = sealed.startsWith(VERSION_1) ? key : sealKeys(key).encryption;
    const bytes = Buffer.from(sealed.slice(VERSION_2.length), 'base64url');
    const iv = bytes.subarray(0, IV_BYTES);
    const decipher = createDecipheriv(CIPHER, encryption, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const opened = [decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(opened).toString('utf8');
  } catch (cause) {
    throw new UnopenedText('a sealed text does not open', { cause });
  }
}
