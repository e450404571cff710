// The codec wraps the event store. It refuses an event that breaks the schema of its type, and upcasts each event that it
// reads to the current version of its type. It seals personal fields on the way in, and opens them on the way out.
import type { EventStore, NewEvent, RecordedEvent } from './event-store.ts';
import type { Compile, Validate } from './event-validation.ts';
import { isSealed, seal, subjectOf, UnopenedText, unseal } from './personal.ts';
import { DamagedPersonalKey, type PersonalKeys } from './personal-keys.ts';
import { categoryOf } from './streams.ts';
import { EventFromLater, markLater, refuseLater } from './unreadable.ts';
import { EVENT_TYPES, type EventType, isEventType, VOCABULARY } from './vocabulary.ts';

/** An event breaks the schema of its type: a defect of the command that appends it. Nothing was appended. */
export class InvalidEvent extends Error {
  readonly code = 'invalid_event';
}

/** The event cannot be read: its JSON, a sealed text or its key was changed, or another program wrote it. Thrown by whoever looks at the data. */
class DamagedEvent extends Error {
  readonly code = 'damaged_event';
}

/** At the first append: a thread that only reads does without the validator. */
let compile: Compile | null = null;

/** A load that failed, for want of file descriptors, is tried again by the next append. */
async function loadCompile(): Promise<Compile> {
  return (compile ??= (await import('./event-validation.ts')).compile);
}

/** Keys that are looked up at once while a batch of events is opened. */
const LOOKUPS_AT_ONCE = 50;

/**
 * The same store behind the codec. `append` throws InvalidEvent. Events of a later version end the read of their stream with
 * EventFromLater, because whoever reads a stream decides on all of it; readers of the whole log get them, and continue with the others. The
 * data of such an event throws EventFromLater, and that of a damaged one DamagedEvent. All throw the errors of `keys`. `types` replaces the
 * vocabulary in tests.
 */
export function withCodec(store: EventStore, keys: PersonalKeys, types = EVENT_TYPES): EventStore {
  const codec = new Codec(keys, types);
  return {
    append: async (stream, expected, events) => store.append(stream, expected, await codec.encode(stream, events)),
    readStream: (stream, options) => codec.readStream(store.readStream(stream, options), options?.known_id),
    ...(store.lastId && { lastId: store.lastId.bind(store) }),
    ...(store.lastIdNow && { lastIdNow: store.lastIdNow.bind(store) }),
    readAll: (options) => codec.readAll(store.readAll(options)),
    async *subscribe(options) {
      for await (const { events, position } of store.subscribe(options)) {
        yield { events: await codec.decode(events), position };
      }
    },
    head: () => store.head(),
    ...(store.size && { size: store.size.bind(store) }),
    async deleteStream(stream) {
      await store.deleteStream(stream);
      keys.forget(stream);
    },
    close: () => store.close(),
  };
}

/** The same for a reader who passes events on, and decides on none: an event of a later version ends no read of its stream either. */
export function withReadingCodec(store: EventStore, keys: PersonalKeys): EventStore {
  const codec = new Codec(keys, EVENT_TYPES);
  return {
    ...withCodec(store, keys),
    readStream: (stream, options) => codec.readAll(store.readStream(stream, options)),
  };
}

class Codec {
  readonly #keys: PersonalKeys;
  readonly #types: typeof EVENT_TYPES;
  readonly #validators = new Map<EventType, Validate>();

  constructor(keys: PersonalKeys, types: typeof EVENT_TYPES) {
    this.#keys = keys;
    this.#types = types;
  }

  /** Throws InvalidEvent. */
  async encode(stream: string, events: readonly NewEvent[]): Promise<NewEvent[]> {
    const compile = await loadCompile();
    const encoded = events.map((event) => this.#encode(event, compile));
    if (!encoded.some((event) => this.#needsSealing(event))) return encoded;
    return Promise.all(encoded.map((event) => (this.#needsSealing(event) ? this.#sealed(stream, event) : event)));
  }

  decode(events: readonly RecordedEvent[]): Promise<RecordedEvent[]> {
    return this.#openAll(events.map((event) => this.#decode(event)));
  }

  readAll(recorded: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent> {
    return this.#read(recorded, (event) => this.#decode(event));
  }

  readStream(recorded: AsyncIterable<RecordedEvent>, known_id?: string): AsyncGenerator<RecordedEvent> {
    return this.#read(recorded, (event) => this.#decodeOfStream(event), known_id);
  }

  #encode(event: NewEvent, compile: Compile): NewEvent {
    const { type, data } = event;
    if (!isEventType(type)) throw new InvalidEvent(`the vocabulary has no event type ${type}`);
    let validate = this.#validators.get(type);
    if (!validate) this.#validators.set(type, (validate = compile(this.#types[type].schema)));
    const problem = validate(data);
    if (problem !== null) throw new InvalidEvent(`${type}${problem}`);
    const version = currentVersion(this.#types, type);
    return version === 1 ? event : { ...event, metadata: { ...event.metadata, version } };
  }

  #decode(event: RecordedEvent): RecordedEvent {
    try {
      return upcast(event, this.#types);
    } catch (cause) {
      if (cause instanceof EventFromLater)
        return markLater(
          unreadable(event, () => cause),
          { error: cause, recorded: event },
        );
      return damaged(event, 'the shape', cause);
    }
  }

  /** The event of a stream that is read to decide on it. */
  #decodeOfStream(event: RecordedEvent): RecordedEvent {
    assertKnown(event, this.#types);
    const decoded = this.#decode(event);
    refuseLater(decoded);
    return decoded;
  }

  /** The personal fields of an event whose value `holds`. */
  #fieldsOf({ type, data }: NewEvent, holds: (value: unknown) => boolean) {
    if (!isEventType(type) || this.#types[type].personal.length === 0) return [];
    return this.#types[type].personal.filter(({ name }) => holds((data as Record<string, unknown>)[name]));
  }

  #needsSealing(event: NewEvent): boolean {
    return this.#fieldsOf(event, isText).length > 0;
  }

  #needsOpening(event: RecordedEvent): boolean {
    try {
      return this.#fieldsOf(event, isSealed).length > 0;
    } catch {
      return false; // data that cannot be read throws at whoever looks at it
    }
  }

  async #sealed(stream: string, event: NewEvent): Promise<NewEvent> {
    const data = { ...(event.data as Record<string, unknown>) };
    for (const { name, whose, erased } of this.#fieldsOf(event, isText)) {
      const key = await this.#keys.make(subjectOf(stream, event.data, whose));
      data[name] = key === null ? erased : seal(key, event.id, data[name] as string);
    }
    return { ...event, data };
  }

  async #opened(event: RecordedEvent): Promise<RecordedEvent> {
    const data = { ...(event.data as Record<string, unknown>) };
    for (const { name, whose, erased } of this.#fieldsOf(event, isSealed)) {
      try {
        const key = await this.#keys.find(subjectOf(event.stream, event.data, whose));
        data[name] = key === null ? erased : unseal(key, event.id, data[name] as string);
      } catch (cause) {
        if (!isDamage(cause)) throw cause;
        return damaged(event, name, cause);
      }
    }
    return { ...event, data };
  }

  /** From a sealed event on, reads ahead by up to `LOOKUPS_AT_ONCE` events, whose keys it looks up together. */
  async *#read(
    recorded: AsyncIterable<RecordedEvent>,
    decoded: (event: RecordedEvent) => RecordedEvent,
    known_id?: string,
  ): AsyncGenerator<RecordedEvent> {
    let ahead: RecordedEvent[] = [];
    for await (const each of recorded) {
      if (ahead.length === 0 && each.id === known_id) {
        yield each;
        continue;
      }
      const event = decoded(each);
      if (ahead.length === 0 && !this.#needsOpening(event)) {
        yield event;
        continue;
      }
      ahead.push(event);
      if (ahead.length < LOOKUPS_AT_ONCE) continue;
      yield* await this.#openAll(ahead);
      ahead = [];
    }
    yield* await this.#openAll(ahead);
  }

  /** Opens the sealed events in place. */
  async #openAll(events: RecordedEvent[]): Promise<RecordedEvent[]> {
    const places = events.flatMap((event, place) => (this.#needsOpening(event) ? [place] : []));
    for (let from = 0; from < places.length; from += LOOKUPS_AT_ONCE) {
      const some = places.slice(from, from + LOOKUPS_AT_ONCE);
      const results = await Promise.all(some.map((place) => this.#opened(events[place]!)));
      results.forEach((event, n) => {
        events[some[n]!] = event;
      });
    }
    return events;
  }
}

/** The event as it is for those who do not need its data, so that one damaged event stops neither a read nor the projector, which parks it. */
function damaged(event: RecordedEvent, name: string, cause: unknown): RecordedEvent {
  const { stream, revision, type } = event;
  const message = `${stream} ${revision}: ${name} of ${type} is damaged, and cannot be opened`;
  return unreadable(event, () => new DamagedEvent(message, { cause }));
}

function unreadable(event: RecordedEvent, reason: () => Error): RecordedEvent {
  const { id, stream, revision, type, position } = event;
  return {
    ...{ id, type, stream, revision, position },
    get data(): never {
      throw reason();
    },
    get metadata() {
      return event.metadata;
    },
  };
}

/** Whether the cipher or the key refused the text, rather than the store or the service's key. */
const isDamage = (error: unknown) => error instanceof DamagedPersonalKey || error instanceof UnopenedText;

const isText = (value: unknown) => typeof value === 'string';

/** The version of a type that this service appends, from 1. */
export const currentVersion = (types: typeof EVENT_TYPES, type: EventType) => types[type].upcasters.length + 1;

/** Throws `EventFromLater` for an unknown type in a stream of a known category: a later version has more types there. */
export function assertKnown({ type, stream, revision }: RecordedEvent, types = EVENT_TYPES): void {
  if (Object.hasOwn(types, type) || !Object.hasOwn(VOCABULARY, categoryOf(stream))) return;
  throw new EventFromLater({ stream, revision, type, version: 1 }, 'is a type that this service does not know');
}

/** The event with its data in the current version of its type, and that version in its metadata. Throws `EventFromLater`. */
export function upcast(event: RecordedEvent, types = EVENT_TYPES): RecordedEvent {
  const { type, metadata, stream, revision } = event;
  if (!isEventType(type)) return event;
  const version = metadata?.version ?? 1;
  const current = currentVersion(types, type);
  if (!Number.isInteger(version) || version < 1 || version > current) {
    const why = `has version ${version}, but this service reads versions up to ${current}`;
    throw new EventFromLater({ stream, revision, type, version }, why);
  }
  if (version === current) return event;
  const steps = types[type].upcasters.slice(version - 1);
  const data = steps.reduce((data, upcast) => upcast(data), event.data);
  return { ...event, data, metadata: { ...metadata, version: current } };
}
