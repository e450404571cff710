// How large an append may be. EventStoreDB refuses one of more than 1 MiB (its MaxAppendSize from 23.10 to 25.0), so
// every store of the port refuses it, and a writer that fits one fits all.

/** Bytes that the events of one append may have together, each counted by `eventBytes`. */
export const MAX_APPEND_BYTES = 2 ** 20;
export const MAX_APPEND_EVENTS = 1_000;

/** The events of one append have too many bytes. Nothing was appended, and trying again cannot help. */
export class AppendTooLarge extends Error {
  readonly code = 'append_too_large';
  constructor(stream: string, size_bytes: number, most_bytes: number = MAX_APPEND_BYTES, options?: ErrorOptions) {
    super(`an append has at most ${most_bytes} bytes, not ${size_bytes}: ${stream}`, options);
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

/** The bytes of a value as JSON in UTF-8; 0 for what is no JSON. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** The events in order, in as few runs as each fit one append. */
export const appendRuns = <E extends Sized>(events: readonly E[], most_bytes = MAX_APPEND_BYTES): E[][] =>
  runsOf(events, eventBytes, { most_bytes, most_items: MAX_APPEND_EVENTS });

/** The items in order, in as few runs as each keep both limits. An item that alone is too large is a run of its own. */
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
