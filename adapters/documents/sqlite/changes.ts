// Notices commits to the file of documents: those of this instance at once, those of other threads and processes at the next look.
import { LookPace } from '../../sqlite-look-pace.ts';

export class Changes {
  readonly #version: () => unknown;
  readonly #watchers = new Set<() => void>();
  readonly #pace = new LookPace();
  #seen: unknown;
  #has_announced = false;
  #timer: NodeJS.Timeout | undefined;

  /** `version` reads a value that differs after each commit of another connection. It may throw while the file is locked. */
  constructor(version: () => unknown) {
    this.#version = version;
  }

  /** The writer calls this after each commit. */
  announce(): void {
    this.#has_announced = true;
    this.#wake();
  }

  #wake(): void {
    for (const changed of this.#watchers) changed();
  }

  watch(changed: () => void): void {
    this.#watchers.add(changed);
    if (this.#timer === undefined) this.#lookLater();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#watchers.clear();
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => {
      this.#look();
      this.#lookLater();
    }, this.#pace.interval_ms).unref();
  }

  #look(): void {
    try {
      const version = this.#version();
      if (version === this.#seen) return;
      this.#seen = version;
      // The version also changes with this instance's own commits.
      if (!this.#has_announced) this.#pace.found();
      this.#has_announced = false;
    } catch {
      // The watchers read the file themselves, and wait or fail with this error.
    }
    this.#wake();
  }
}
