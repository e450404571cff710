// The codec wraps the event store. It refuses an event that breaks the schema of its type, and upcasts each event that it
// reads to the current version of its type.
import { Compile, type Validator } from 'typebox/compile';
import type { EventStore, NewEvent, RecordedEvent } from './event-store.ts';
import { EVENT_TYPES, type EventType, isEventType } from './vocabulary.ts';

/** An event breaks the schema of its type: a defect of the command that appends it. Nothing was appended. */
export class InvalidEvent extends Error {
  readonly code = 'invalid_event';
}

/** A later version of the service appended the event, and this version cannot read its shape. */
export class EventFromLater extends Error {
  readonly code = 'unavailable';
}

/**
 * The same store behind the codec. `append` throws InvalidEvent; reads and subscriptions throw EventFromLater.
 * `types` replaces the vocabulary in tests.
 */
export function withCodec(store: EventStore, types = EVENT_TYPES): EventStore {
  const validators = new Map<EventType, Validator>();

  function encode(event: NewEvent): NewEvent {
    const { type, data } = event;
    if (!isEventType(type)) throw new InvalidEvent(`the vocabulary has no event type ${type}`);
    let validator = validators.get(type);
    if (!validator) validators.set(type, (validator = Compile(types[type].schema)));
    if (!validator.Check(data)) {
      const [first] = validator.Errors(data);
      throw new InvalidEvent(`${type}${first?.instancePath ?? ''} ${first?.message ?? 'breaks its schema'}`);
    }
    const version = currentVersion(type);
    return version === 1 ? event : { ...event, metadata: { ...event.metadata, version } };
  }

  const currentVersion = (type: EventType) => types[type].upcasters.length + 1;

  function decode(event: RecordedEvent): RecordedEvent {
    const { type, metadata, stream, revision } = event;
    if (!isEventType(type)) return event;
    const version = metadata?.version ?? 1;
    const current = currentVersion(type);
    if (!Number.isInteger(version) || version < 1 || version > current) {
      throw new EventFromLater(
        `${stream} ${revision}: ${type} has version ${version}, but this service reads versions up to ${current}: start the later service`,
      );
    }
    if (version === current) return event;
    const steps = types[type].upcasters.slice(version - 1);
    return { ...event, data: steps.reduce((data, upcast) => upcast(data), event.data) };
  }

  async function* read(events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent> {
    for await (const event of events) yield decode(event);
  }

  return {
    append: async (stream, expected, events) => store.append(stream, expected, events.map(encode)),
    readStream: (stream, options) => read(store.readStream(stream, options)),
    readAll: (options) => read(store.readAll(options)),
    async *subscribe(options) {
      for await (const { events, position } of store.subscribe(options)) yield { events: events.map(decode), position };
    },
    head: () => store.head(),
    deleteStream: (stream) => store.deleteStream(stream),
    close: () => store.close(),
  };
}
