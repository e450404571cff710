// The codec wraps the event store. It refuses an event that breaks the schema of its type, and upcasts each event that it
// reads to the current version of its type.
import type { EventStore, NewEvent, RecordedEvent } from './event-store.ts';
import type { Compile, Validate } from './event-validation.ts';
import { EVENT_TYPES, type EventType, isEventType } from './vocabulary.ts';

/** An event breaks the schema of its type: a defect of the command that appends it. Nothing was appended. */
export class InvalidEvent extends Error {
  readonly code = 'invalid_event';
}

/** A later version of the service appended the event, and this version cannot read its shape. */
export class EventFromLater extends Error {
  readonly code = 'unavailable';
}

/** At the first append: a thread that only reads does without the validator. */
let validation: Promise<{ compile: Compile }> | null = null;
const loadValidation = () => (validation ??= import('./event-validation.ts'));

/**
 * The same store behind the codec. `append` throws InvalidEvent; reads and subscriptions throw EventFromLater.
 * `types` replaces the vocabulary in tests.
 */
export function withCodec(store: EventStore, types = EVENT_TYPES): EventStore {
  const validators = new Map<EventType, Validate>();

  function encode(event: NewEvent, compile: Compile): NewEvent {
    const { type, data } = event;
    if (!isEventType(type)) throw new InvalidEvent(`the vocabulary has no event type ${type}`);
    let validate = validators.get(type);
    if (!validate) validators.set(type, (validate = compile(types[type].schema)));
    const problem = validate(data);
    if (problem !== null) throw new InvalidEvent(`${type}${problem}`);
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
    async append(stream, expected, events) {
      const { compile } = await loadValidation();
      return store.append(
        stream,
        expected,
        events.map((event) => encode(event, compile)),
      );
    },
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
