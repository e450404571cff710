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

/**
 * The events in order, in as few runs as each fit one append. An event that fits none is a run of its own, which every
 * store refuses.
 */
export function appendRuns<E extends Sized>(events: readonly E[], most_bytes = MAX_APPEND_BYTES): E[][] {
  const runs: E[][] = [];
  let run_bytes = Number.POSITIVE_INFINITY;
  for (const event of events) {
    const size_bytes = eventBytes(event);
    const run = runs.at(-1);
    if (run === undefined || run.length === MAX_APPEND_EVENTS || run_bytes + size_bytes > most_bytes) {
      runs.push([event]);
      run_bytes = size_bytes;
    } else {
      run.push(event);
      run_bytes += size_bytes;
    }
  }
  return runs;
}
