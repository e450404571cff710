// The streams `personal_keys-{subject}`: the key that seals a user's or a job's personal fields, itself sealed under the service's key.
// Deleting the stream destroys the key, and no later append can bring it back.
import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { derivedKey } from './derived-key.ts';
import { type DataOf, event } from './event-spec.ts';
import type { EventStore, NewEvent } from './event-store.ts';
import { seal, unseal } from './personal.ts';
import { Type } from './schema.ts';
import { type PersonalSubject, personalKeyStream } from './streams.ts';

export const PERSONAL_KEYS_EVENTS = {
  /** The first and only event of its stream. */
  PersonalKeyMade: event({ wrapped: Type.String() }),
};
type PersonalKeyMade = DataOf<typeof PERSONAL_KEYS_EVENTS.PersonalKeyMade>;

/** PERSONAL_DATA_KEY is not the one under which the log's keys are sealed. */
export class WrongPersonalDataKey extends Error {
  readonly code = 'wrong_personal_data_key';
}

/** A subject's key does not open, although the service's own does: a byte of it was changed. */
export class DamagedPersonalKey extends Error {
  readonly code = 'damaged_personal_key';
}

const KEY_BYTES = 32;
const MAX_KEPT = 10_000;
/** Shorter than the time for which the eraser lets requests end: afterwards no thread has the key. */
const KEPT_MS = 10 * 60_000;

const SERVICE_KEY = personalKeyStream('service');

/** Kept instead of a key that is destroyed, which stays so. */
const DESTROYED = Symbol('destroyed');

export type PersonalKeys = ReturnType<typeof openPersonalKeys>;

/** The keys in `store`, wrapped under `secret`. Calls throw `WrongPersonalDataKey`, `DamagedPersonalKey` and the store's errors. */
export function openPersonalKeys(store: EventStore, secret: Uint8Array) {
  const wrapping = wrappingKey(secret);
  const kept = new LRUCache<string, Uint8Array | typeof DESTROYED>({ max: MAX_KEPT, ttl: KEPT_MS });
  /** Reads of `find` in progress. Calls of `make` read for themselves: a read from before the key was made must not answer `find`. */
  const finding = new Map<string, Promise<Uint8Array | null>>();

  async function readKey(stream: string): Promise<Uint8Array | null> {
    const wrapped = await wrappedOf(stream);
    if (wrapped === null) return null;
    try {
      const key = unwrap(wrapping, stream, wrapped);
      kept.set(stream, key);
      return key;
    } catch (wrong) {
      if (stream !== SERVICE_KEY && (await opensOwn())) {
        throw new DamagedPersonalKey(`the key in ${stream} is damaged, and cannot be opened`, { cause: wrong });
      }
      throw wrong;
    }
  }

  async function wrappedOf(stream: string): Promise<PersonalKeyMade | null> {
    for await (const { data } of store.readStream(stream, { limit: 1 })) return data as PersonalKeyMade;
    return null;
  }

  /** Whether the secret opens the key that the service made at its first start. */
  async function opensOwn(): Promise<boolean> {
    const wrapped = await wrappedOf(SERVICE_KEY);
    if (wrapped !== null) unwrap(wrapping, SERVICE_KEY, wrapped);
    return wrapped !== null;
  }

  /** For a stream that somebody has written: without its event, the key is destroyed. */
  async function readWritten(stream: string): Promise<Uint8Array | null> {
    const key = await readKey(stream);
    if (key === null) kept.set(stream, DESTROYED);
    return key;
  }

  return {
    /** The key under which an event of the log is sealed; null when it is destroyed. */
    async find(subject: PersonalSubject): Promise<Uint8Array | null> {
      const stream = personalKeyStream(subject);
      const known = kept.get(stream);
      if (known) return known === DESTROYED ? null : known;
      let found = finding.get(stream);
      if (!found) {
        found = readWritten(stream).finally(() => finding.delete(stream));
        finding.set(stream, found);
      }
      return found;
    },
    /** The subject's key; makes one when there is none. Null when it is destroyed. */
    async make(subject: PersonalSubject): Promise<Uint8Array | null> {
      const stream = personalKeyStream(subject);
      const known = kept.get(stream);
      if (known) return known === DESTROYED ? null : known;
      const found = await readKey(stream);
      if (found) return found;
      const key = randomBytes(KEY_BYTES);
      const appended = await store.append(stream, 'no_stream', [
        keyMade(seal(wrapping, stream, key.toString('base64url')), Date.now()),
      ]);
      if (appended.ok) {
        kept.set(stream, key);
        return key;
      }
      // Another process made it first, or it is destroyed.
      return readWritten(stream);
    },
    /** Call it when a stream of keys is deleted. */
    forget: (stream: string): void => void kept.delete(stream),
  };
}

const wrappingKey = (secret: Uint8Array) => derivedKey(secret, 'personal keys');

function unwrap(wrapping: Uint8Array, stream: string, { wrapped }: PersonalKeyMade): Uint8Array {
  try {
    return Buffer.from(unseal(wrapping, stream, wrapped), 'base64url');
  } catch (cause) {
    const message = `${stream} is sealed under another PERSONAL_DATA_KEY: give the service the one it had before`;
    throw new WrongPersonalDataKey(message, { cause });
  }
}

/**
 * Throws `WrongPersonalDataKey` when `secret` does not open the key in the data of the first event of `stream`.
 * @example assertOpens(Buffer.alloc(32), 'personal_keys-user/alice', { wrapped: 'sealed under another key' }) // throws
 */
export function assertOpens(secret: Uint8Array, stream: string, data: unknown): void {
  unwrap(wrappingKey(secret), stream, data as PersonalKeyMade);
}

function keyMade(wrapped: string, now: number): NewEvent<string, PersonalKeyMade> {
  const command_id = randomUUID();
  const metadata = { command_id, causation_id: command_id, actor: 'process:codec', at: new Date(now).toISOString() };
  return { id: randomUUID(), type: 'PersonalKeyMade', data: { wrapped }, metadata };
}
