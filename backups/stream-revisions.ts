// Proves that the events of each stream follow each other without a gap. Memory: about 30 bytes a stream.
import { DigestSet } from '../intake/digest-set.ts';
import { DamagedBackup } from './parts.ts';

const FIRST_STREAMS = 1024;

export class StreamRevisions {
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
