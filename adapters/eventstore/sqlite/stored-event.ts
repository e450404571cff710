// An event as read from the log. Its `data` and `metadata` are parsed when they are first looked at: a subscriber that
// needs only streams and revisions pays for no JSON.
import type { Metadata, Position, RecordedEvent } from '../../../events/event-store.ts';
import { toPosition } from './position.ts';

/** The columns of an event in the order in which `COLUMNS` selects them. */
export type EventRow = [
  rowid: number,
  revision: number,
  type: string,
  id: string,
  metadata: string,
  data: string,
  stream: string,
];
export const COLUMNS = 'e.position, e.revision, e.type, e.id, e.metadata, e.data, s.name';

/**
 * `data` and `metadata` are accessors, but own, enumerable and writable like any property, so that spreading,
 * `JSON.stringify`, `structuredClone` and deep equality see their values. What was parsed once is the same object
 * from then on.
 */
export class StoredEvent implements RecordedEvent {
  readonly #row: EventRow;
  #data: unknown;
  #metadata: Metadata | undefined;
  id: string;
  type: string;
  declare data: unknown;
  declare metadata: Metadata;
  stream: string;
  revision: number;
  position: Position;

  constructor(row: EventRow) {
    this.#row = row;
    this.id = row[3];
    this.type = row[2];
    // The same two descriptors for every event: V8 then gives all of them one hidden class.
    Object.defineProperty(this, 'data', StoredEvent.#lazyData);
    Object.defineProperty(this, 'metadata', StoredEvent.#lazyMetadata);
    this.stream = row[6];
    this.revision = row[1];
    this.position = toPosition(row[0]);
  }

  static #lazyData: PropertyDescriptor & ThisType<StoredEvent> = {
    enumerable: true,
    configurable: true,
    get() {
      return (this.#data ??= JSON.parse(this.#row[5]));
    },
    set(data: unknown) {
      this.#data = data;
    },
  };

  static #lazyMetadata: PropertyDescriptor & ThisType<StoredEvent> = {
    enumerable: true,
    configurable: true,
    get() {
      return (this.#metadata ??= metadataOf(this.#row[4]));
    },
    set(metadata: Metadata) {
      this.#metadata = metadata;
    },
  };

  static {
    // Deep equality of test tools compares constructors: an event is equal to the plain object with its values.
    Reflect.deleteProperty(StoredEvent.prototype, 'constructor');
  }
}

/** The events of one command have one text, and come one after the other: it is parsed once. */
function metadataOf(text: string): Metadata {
  if (text !== parsed.text) parsed = { text, metadata: JSON.parse(text) };
  return parsed.metadata;
}
let parsed = { text: '', metadata: {} as Metadata };
