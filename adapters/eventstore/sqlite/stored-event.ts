// An event as read from the log. It parses `data` and `metadata` at their first use, so that a subscriber that needs only
// streams and revisions parses no JSON.
import { type EventRow, type Metadata, type Position, type RecordedEvent, SIZE } from '../../../events/event-store.ts';
import { toPosition } from './position.ts';

/** What an `EventRow` consists of. */
export const COLUMNS = 'e.position, e.revision, e.type, e.id, e.metadata, e.data, s.name';

/**
 * `data` and `metadata` are accessors, but own, enumerable and writable like any property, so that spreading,
 * `JSON.stringify`, `structuredClone` and deep equality see their values. Each is parsed once and then keeps its object.
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
    // Every event shares these two descriptors, so that V8 gives all events one hidden class.
    Object.defineProperty(this, 'data', StoredEvent.#lazyData);
    Object.defineProperty(this, 'metadata', StoredEvent.#lazyMetadata);
    this.stream = row[6];
    this.revision = row[1];
    this.position = toPosition(row[0]);
  }

  get [SIZE](): number {
    return this.#row[4].length + this.#row[5].length;
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
    // Deep equality of test tools compares constructors; without one, an event equals the plain object with its values.
    Reflect.deleteProperty(StoredEvent.prototype, 'constructor');
  }
}

/** Caches the last text: the events of one command follow each other and share one metadata text. */
function metadataOf(text: string): Metadata {
  if (text !== parsed.text) parsed = { text, metadata: JSON.parse(text) };
  return parsed.metadata;
}
let parsed = { text: '', metadata: {} as Metadata };
