// Shares one probe of a folder and job among several checkers. A checker that needs a probe broadcasts a request; the
// folder's owner sends the probe and broadcasts the answer. Broadcasts may be lost and checkers may end, so a checker repeats
// an unanswered request and finally sends the probe itself: a second probe costs less than a missing verdict.
import { owns } from './budget.ts';
import type { ProbePeers, ProbeRequest, Probes } from './engine/probes.ts';
import type { ProbeAnswer } from './engine/soft-404.ts';
import { PROBE_SUBJECT, PROBED_SUBJECT, type Probed } from './work.ts';

export interface SharedProbesOptions {
  me: string;
  probes: Pick<Probes, 'probe' | 'answer' | 'recall'>;
  broadcast: (subject: string, body: ProbeRequest | Probed) => void;
  /** Time limit of one attempt. */
  attempt_ms: number;
  /** Time between two calls of `sweep`. */
  sweep_ms: number;
  /** Monotonic clock, in milliseconds. */
  now: () => number;
  /** A new owner waits this long, in case another checker knows the answer and broadcasts it. */
  answer_wait_ms?: number;
}

const ANSWER_WAIT_MS = 100;
const REPEAT_AFTER_SWEEPS = 5;
/** More than one attempt, because the owner's probe may be retried and redirected. */
const ASK_AFTER_ATTEMPTS = 4;

interface Wanted {
  request: ProbeRequest;
  since: number;
  requested_at: number;
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
    const wanted = { request, since: now, requested_at: now };
    this.#wanted.set(request.folder, wanted);
    this.#request(wanted);
  }

  probed(folder: string, { status, final_path, sketch }: ProbeAnswer): void {
    this.#wanted.delete(folder);
    this.#options.broadcast(PROBED_SUBJECT, { folder, status, final_path, sketch: sketch && [...sketch] });
  }

  /** Receives the request of any checker, this one included. */
  receiveRequest(request: ProbeRequest): void {
    const { me, probes, answer_wait_ms = ANSWER_WAIT_MS } = this.#options;
    const known = probes.recall(request.folder);
    if (known !== null) this.probed(request.folder, known);
    else if (owns(me, request.folder, this.#alive)) setTimeout(() => probes.probe(request), answer_wait_ms).unref();
  }

  receiveAnswer({ folder, status, final_path, sketch }: Probed): void {
    this.#wanted.delete(folder);
    this.#options.probes.answer(folder, { status, final_path, sketch: sketch && Uint32Array.from(sketch) });
  }

  /** The live checkers have changed: the folders of open requests may have new owners. */
  setAlive(alive: readonly string[]): void {
    this.#alive = alive;
    if (alive.length > 1) {
      for (const wanted of this.#wanted.values()) this.#request(wanted);
      return;
    }
    for (const { request } of this.#wanted.values()) this.#options.probes.probe(request);
    this.#wanted.clear();
  }

  /** The caller runs it every `sweep_ms`: repeats old requests, and sends probes that no owner answered. */
  sweep(): void {
    const { probes, attempt_ms, sweep_ms, now } = this.#options;
    for (const wanted of this.#wanted.values()) {
      if (now() - wanted.since > ASK_AFTER_ATTEMPTS * attempt_ms) probes.probe(wanted.request);
      else if (now() - wanted.requested_at > REPEAT_AFTER_SWEEPS * sweep_ms) this.#request(wanted);
    }
  }

  #request(wanted: Wanted): void {
    wanted.requested_at = this.#options.now();
    this.#options.broadcast(PROBE_SUBJECT, wanted.request);
  }
}
