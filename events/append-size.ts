// The sizes of events, and the limits of an append. EventStoreDB refuses an append of more than 1 MiB (its MaxAppendSize from 23.10 to 25.0), so
// every adapter of the port refuses it, and a writer that keeps the limit works with each of them. Decision 36 says why.

/** The most bytes that the events of one append have together, each counted by `eventBytes`. */
export const MAX_APPEND_BYTES = 2 ** 20;
export const MAX_APPEND_EVENTS = 1_000;

/** The events of one append have too many bytes. The store appended nothing, and a retry fails again. */
export class AppendTooLarge extends Error {
  readonly code = 'append_too_large';
  constructor(stream: string, size_bytes: number, most_bytes: number = MAX_APPEND_BYTES, options?: ErrorOptions) {
    super(`an append to ${stream} has ${size_bytes} bytes; the limit is ${most_bytes}`, options);
  }
}

interface Sized {
  type: string;
  data: unknown;
  metadata: unknown;
}

/** An event's bytes, as EventStoreDB counts them: the JSON of its data and metadata, and two for each unit of its type. */
export const eventBytes = ({ type, data, metadata }: Sized): number =>
  jsonBytes(data) + jsonBytes(metadata) + 2 * type.length;

/** The property by which an adapter tells an event's size. On a prototype, so that an event equals the plain object with its values. */
export const SIZE = Symbol('size of the event');

/** The size of a recorded event, without parsing it where its adapter knows it: then in characters. Damaged data counts nothing. */
export function sizeOf(event: Sized & { [SIZE]?: number }): number {
  if (event[SIZE] !== undefined) return event[SIZE];
  try {
    return eventBytes(event);
  } catch {
    return 0;
  }
}

/** The bytes of a value as JSON in UTF-8; 0 for a value that JSON cannot express, such as undefined. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/**
 * Splits the items, in order, into as few runs as keep both limits. An item larger than `most_bytes` is a run of its own.
 * @example runsOf(['aa', 'b', 'c'], (text) => text.length, { most_bytes: 2 }) // [['aa'], ['b', 'c']]
 */
export function runsOf<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  { most_bytes, most_items = Number.POSITIVE_INFINITY }: { most_bytes: number; most_items?: number },
): Item[][] {
  const runs: Item[][] = [];
  let run_bytes = 0;
  for (const item of items) {
    const size_bytes = bytesOf(item);
    const run = runs.at(-1);
    if (run === undefined || run.length === most_items || run_bytes + size_bytes > most_bytes) {
      runs.push([item]);
      run_bytes = size_bytes;
    } else {
      run.push(item);
      run_bytes += size_bytes;
    }
  }
  return runs;
}
