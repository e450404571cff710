// One probe a folder and job among several checkers: who needs one says so, the checker that the folder belongs to asks
// it, and what it said is told to all. Broadcasts may be lost and checkers may end: what is not answered is said again,
// and in the end asked from here, for a verdict matters more than a request.
import { owns } from './budget.ts';
import type { ProbePeers, ProbeRequest, Probes } from './engine/probes.ts';
import type { ProbeAnswer } from './engine/soft-404.ts';
import { PROBE_SUBJECT, PROBED_SUBJECT, type Probed } from './work.ts';

export interface SharedProbesOptions {
  me: string;
  probes: Pick<Probes, 'probe' | 'answer' | 'recall'>;
  say: (subject: string, body: ProbeRequest | Probed) => void;
  /** What one attempt may last. */
  attempt_ms: number;
  /** Between two looks. */
  look_ms: number;
  /** Milliseconds that never go back. */
  now: () => number;
}

/** An owner that is new leaves those who know the answer this time to tell it. */
const TOLD_WITHIN_MS = 100;
/** In looks. */
const SAID_AGAIN_AFTER = 5;
/** In attempts of its owner, who has retries and redirects to go through. */
const GIVEN_UP_AFTER = 4;

interface Wanted {
  request: ProbeRequest;
  since: number;
  said_at: number;
}

export class SharedProbes implements ProbePeers {
  readonly #options: SharedProbesOptions;
  readonly #wanted = new Map<string, Wanted>();
  #alive: readonly string[];

  constructor(options: SharedProbesOptions) {
    this.#options = options;
    this.#alive = [options.me];
  }

  probe(request: ProbeRequest): void {
    const now = this.#options.now();
    const wanted = { request, since: now, said_at: now };
    this.#wanted.set(request.folder, wanted);
    this.#say(wanted);
  }

  probed(folder: string, { status, final_path, sketch }: ProbeAnswer): void {
    this.#wanted.delete(folder);
    this.#options.say(PROBED_SUBJECT, { folder, status, final_path, sketch: sketch && [...sketch] });
  }

  /** Another's wish, or the own. */
  hearWanted(request: ProbeRequest): void {
    const { me, probes } = this.#options;
    const known = probes.recall(request.folder);
    if (known !== null) this.probed(request.folder, known);
    else if (owns(me, request.folder, this.#alive)) setTimeout(() => probes.probe(request), TOLD_WITHIN_MS).unref();
  }

  hearProbed({ folder, status, final_path, sketch }: Probed): void {
    this.#wanted.delete(folder);
    this.#options.probes.answer(folder, { status, final_path, sketch: sketch && Uint32Array.from(sketch) });
  }

  /** These are alive now: what is wanted may belong to another. */
  share(alive: readonly string[]): void {
    this.#alive = alive;
    if (alive.length > 1) {
      for (const wanted of this.#wanted.values()) this.#say(wanted);
      return;
    }
    for (const { request } of this.#wanted.values()) this.#options.probes.probe(request);
    this.#wanted.clear();
  }

  /** To be called regularly. */
  look(): void {
    const { probes, attempt_ms, look_ms, now } = this.#options;
    for (const wanted of this.#wanted.values()) {
      if (now() - wanted.since > GIVEN_UP_AFTER * attempt_ms) probes.probe(wanted.request);
      else if (now() - wanted.said_at > SAID_AGAIN_AFTER * look_ms) this.#say(wanted);
    }
  }

  #say(wanted: Wanted): void {
    wanted.said_at = this.#options.now();
    this.#options.say(PROBE_SUBJECT, wanted.request);
  }
}
