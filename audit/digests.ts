// What the audit wants to know of the events of an embedded log. A thread that reads ahead makes it of their rows, so that JSON is parsed and
// hashes are computed beside the audit. Whatever is not as the service writes it goes over whole, and the audit judges it as any event.
// Decision 95 says why.
import { urlsOf } from '../events/checked-range.ts';
import type { URLChecked } from '../events/checks.ts';
import { type CreditsEvent, entryHash } from '../events/credits.ts';
import type { EventRow, Metadata, Position } from '../events/event-store.ts';
import { categoryOf, checksOf, idOf, isBilled } from '../events/streams.ts';
import { isOfLater } from './known-types.ts';
import { openSpill } from './spill.ts';

/** What there is of an event: all of it, the number of results, all but what its hash covers alone, or that and its hash. */
export const KIND = { whole: 0, results: 1, step: 2, entry: 3 } as const;

/** Events in the order of the log, in a message between threads. */
export interface Digests {
  /** A `KIND` for each event. */
  kinds: Uint8Array<ArrayBuffer>;
  /** Two for each event: its time in milliseconds since the epoch, then its revision; an event of results has their number instead. */
  numbers: Float64Array<ArrayBuffer>;
  /**
   * Results have their job here; a step has its position, stream and type; an entry has these and the hash before it, after which its
   * own is right. Lists are sent as JSON, because to send each text alone costs more than to read it.
   */
  names: string;
  /** The data of steps and entries. */
  data: string;
  whole: { position: Position; row: EventRow }[];
  /** The last event's. */
  position: Position;
}

/** The hashes in memory. */
const IN_MEMORY = 100_000;
/** After an entry that went over whole, nothing is known of its ledger. */
const UNKNOWN = '?';

/** For rows of all credits in the order of the log. */
export function openPacker(positionOf: (rowid: number) => Position): (rows: readonly EventRow[]) => Digests {
  /** The last hash of each ledger. */
  const hashes = openSpill().map<string>('hashes', IN_MEMORY);
  let read = { text: '', metadata: {} as Metadata };

  function pack(rows: readonly EventRow[]): Digests {
    const kinds = new Uint8Array(rows.length);
    const numbers = new Float64Array(2 * rows.length);
    const names: string[] = [];
    const texts: string[] = [];
    const whole: Digests['whole'] = [];
    for (const [n, row] of rows.entries()) {
      const [rowid, revision, type, , , text, stream] = row;
      const digest = digestOf(row);
      kinds[n] = digest?.kind ?? KIND.whole;
      if (digest === null) {
        whole.push({ position: positionOf(rowid), row });
        continue;
      }
      numbers[2 * n] = digest.time;
      if (digest.kind === KIND.results) {
        numbers[2 * n + 1] = digest.urls;
        names.push(digest.job_id);
        continue;
      }
      numbers[2 * n + 1] = revision;
      names.push(positionOf(rowid), stream, type);
      if (digest.kind === KIND.entry) names.push(digest.previous);
      texts.push(text);
    }
    const position = positionOf(rows.at(-1)![0]);
    return { kinds, numbers, names: JSON.stringify(names), data: `[${texts.join(',')}]`, whole, position };
  }

  /** Null: the event goes over whole. */
  function digestOf(row: EventRow) {
    const [, , type, , metadata_text, text, stream] = row;
    const category = categoryOf(stream);
    // The leaf of a tree is all of it.
    if (isBilled(category)) return null;
    try {
      // The events of one command follow each other.
      if (read.text !== metadata_text) read = { text: metadata_text, metadata: JSON.parse(metadata_text) };
      const time = Date.parse(read.metadata.at);
      const data: unknown = JSON.parse(text);
      if (Number.isNaN(time)) throw new RangeError('no time');
      if (isOfLater({ stream, type, metadata: read.metadata })) throw new RangeError('of a later version');
      if (category === 'credits')
        return { kind: KIND.entry, time, previous: chained(row, data as CreditsEvent['data']) };
      if (category !== 'checks') return { kind: KIND.step, time };
      const urls = urlsOf(data as URLChecked);
      if (type !== 'URLChecked' || !Number.isSafeInteger(urls)) throw new RangeError('no results');
      return { kind: KIND.results, time, urls, job_id: checksOf(stream).job_id };
    } catch {
      // Whatever it is: the audit meets it again.
      if (category === 'credits') hashes.set(idOf(stream), UNKNOWN);
      return null;
    }
  }

  /** The hash before an entry. Throws where the entry's own is not computed of it. */
  function chained([, revision, type, id, , , stream]: EventRow, data: CreditsEvent['data']): string {
    const user_id = idOf(stream);
    const previous = hashes.get(user_id) ?? '';
    if (previous === UNKNOWN) throw new RangeError('the hash before it is not known');
    const hash = entryHash(previous, { stream, revision, id, type, data, metadata: read.metadata });
    if (typeof data.transaction_type !== 'string' || hash !== data.hash) throw new RangeError('no entry after it');
    hashes.set(user_id, data.hash);
    return previous;
  }

  return pack;
}
