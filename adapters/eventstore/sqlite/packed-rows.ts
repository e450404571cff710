// Rows of events in a message between threads. One long text costs far less to send than a text for each column.
import type { EventRow } from '../../../events/event-store.ts';

export interface PackedRows {
  /** Rowid and revision of each row. */
  numbers: Float64Array<ArrayBuffer>;
  /** Type, id and stream of each row. Short texts that are kept must not keep the long one. */
  names: string[];
  /** The lengths of metadata and data of each row. */
  lengths: Uint32Array<ArrayBuffer>;
  /** Metadata and data of all rows. */
  texts: string;
}

export const openPacker = () => packRows;

function packRows(rows: readonly EventRow[]): PackedRows {
  const numbers = new Float64Array(2 * rows.length);
  const lengths = new Uint32Array(2 * rows.length);
  const names: string[] = [];
  const texts: string[] = [];
  for (const [n, [rowid, revision, type, id, metadata, data, stream]] of rows.entries()) {
    numbers[2 * n] = rowid;
    numbers[2 * n + 1] = revision;
    lengths[2 * n] = metadata.length;
    lengths[2 * n + 1] = data.length;
    names.push(type, id, stream);
    texts.push(metadata, data);
  }
  return { numbers, names, lengths, texts: texts.join('') };
}

export function* unpackRows({ numbers, names, lengths, texts }: PackedRows): Generator<EventRow, void> {
  let at = 0;
  for (let n = 0; n < lengths.length; n += 2) {
    const data_at = at + lengths[n]!;
    const end = data_at + lengths[n + 1]!;
    const name = (n / 2) * 3;
    yield [
      numbers[n]!,
      numbers[n + 1]!,
      names[name]!,
      names[name + 1]!,
      texts.slice(at, data_at),
      texts.slice(data_at, end),
      names[name + 2]!,
    ];
    at = end;
  }
}
