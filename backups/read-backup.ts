// Reads a backup, and proves that it is whole.
import { createHash } from 'node:crypto';
import { DigestSet } from '../intake/digest-set.ts';
import { type Counts, type FirstLine, type Line, parseLine } from './lines.ts';
import { DamagedBackup, readParts } from './parts.ts';
import type { BackupProgress } from './write-backup.ts';

/** Opens the file from its beginning. Each pass over a backup opens it anew. */
export type OpenBackup = () => Promise<AsyncIterable<Uint8Array>>;

export interface VerifiedBackup
  extends BackupProgress,
    Pick<FirstLine, 'backup_id' | 'log_id' | 'position' | 'began_at'> {
  /** Of the whole file, in hexadecimal. */
  sha256: string;
}

/** Yields the lines. Throws `DamagedBackup`, also at its end when the last line does not say what came before it. */
export async function* readBackup(file: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void> {
  const counts: Counts = { events: 0, files: 0, deleted_streams: 0 };
  let state = 'beginning' as 'beginning' | 'inside' | 'ended';
  let open_file: { file: string; size_bytes: number } | null = null;

  /** Throws when the line may not stand here. */
  function count(each: Line): void {
    if (state === 'ended' || (each.kind === 'first') !== (state === 'beginning'))
      throw new DamagedBackup('a line is out of place');
    state = each.kind === 'last' ? 'ended' : 'inside';
    if (open_file !== null && (each.kind !== 'file' || each.line.file !== open_file.file)) {
      throw new DamagedBackup(`the file ${open_file.file} has no end`);
    }
    if (each.kind === 'event') counts.events += 1;
    if (each.kind === 'deleted') counts.deleted_streams += 1;
    if (each.kind === 'file') open_file = countFile(each.line, open_file);
    if (each.kind === 'last') {
      for (const name of Object.keys(counts) as (keyof Counts)[]) {
        if (counts[name] !== each.line.end[name]) {
          throw new DamagedBackup(`it has ${counts[name]} ${name}, and its end says ${each.line.end[name]}`);
        }
      }
    }
  }
  function countFile(
    { file, content, size_bytes }: { file: string; content: string; size_bytes?: number },
    open: typeof open_file,
  ) {
    const read_bytes = (open?.size_bytes ?? 0) + Buffer.from(content, 'base64').length;
    if (size_bytes === undefined) return { file, size_bytes: read_bytes };
    if (size_bytes !== read_bytes)
      throw new DamagedBackup(`the file ${file} has ${read_bytes} of its ${size_bytes} bytes`);
    counts.files += 1;
    return null;
  }

  for await (const { number, lines } of readParts(file)) {
    for (const text of lines) {
      let line: Line;
      try {
        line = parseLine(text);
        count(line);
      } catch (error) {
        throw error instanceof DamagedBackup ? new DamagedBackup(`part ${number}: ${error.message}`) : error;
      }
      yield line;
    }
  }
  if (state !== 'ended') throw new DamagedBackup('the file was cut: its last part is missing');
}

/** Reads the whole file, and proves that it can be restored. Throws `DamagedBackup`. `look` is called with each line. */
export async function verifyBackup(open: OpenBackup, look: (line: Line) => void = () => {}): Promise<VerifiedBackup> {
  const whole = createHash('sha256');
  let size_bytes = 0;
  async function* counted() {
    for await (const chunk of await open()) {
      whole.update(chunk);
      size_bytes += chunk.length;
      yield chunk;
    }
  }
  let first: FirstLine | null = null;
  let end: Counts | null = null;
  const revisions = new StreamRevisions();
  for await (const each of readBackup(counted())) {
    look(each);
    if (each.kind === 'event') revisions.take(each.line);
    if (each.kind === 'first') first = each.line;
    if (each.kind === 'last') end = each.line.end;
  }
  const { backup_id, log_id, position, began_at } = first!;
  return { backup_id, log_id, position, began_at, ...end!, size_bytes, sha256: whole.digest('hex') };
}

// Proves that the events of each stream follow each other without a gap. Memory: about 30 bytes a stream.
const FIRST_STREAMS = 1024;

class StreamRevisions {
  readonly #streams = new DigestSet();
  /** The next revision of each stream, by its place in the set. */
  #next = new Uint32Array(FIRST_STREAMS);

  /** Throws `DamagedBackup` unless the event is its stream's next one. */
  take({ stream, revision }: { stream: string; revision: number }): void {
    const known = this.#streams.add(stream);
    const place = known ?? this.#streams.size - 1;
    if (place === this.#next.length) this.#grow();
    const expected = this.#next[place]!;
    if (revision !== expected) {
      throw new DamagedBackup(`${stream} continues with revision ${revision}, and revision ${expected} is missing`);
    }
    this.#next[place] = expected + 1;
  }

  #grow(): void {
    const larger = new Uint32Array(this.#next.length * 2);
    larger.set(this.#next);
    this.#next = larger;
  }
}
