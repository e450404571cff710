// Begins requests in turns, so that the event loop comes round to probes: a slice of them in each turn of the loop, one address after the
// other, and of an address one caller after the other. A request that has waited for a second is refused before it costs anything.
// Decision 123 says why.
import type { IncomingMessage } from 'node:http';
import type { Registry } from 'prom-client';
import { Rota } from './limits/rota.ts';
import { openCounter, openGauge } from './metrics.ts';

export interface Entering {
  request: IncomingMessage;
  /** The names of who asks, from the widest: site, address, credentials. */
  of: readonly string[];
  begin(): void;
  refuse(): void;
}

export interface RequestTurnsOptions {
  reads_at_once?: number;
  /** How long a request may wait for its turn. */
  wait_ms?: number;
  monotonic?: () => number;
}

/** The most reads that work at a time, half of them of one caller: more would only wait for each other at the stores. */
const READS_AT_ONCE = 32;
const WAIT_MS = 1000;
/** Requests begin for this long in a turn of the event loop; for less while its turns take longer than `TURN_MS`. */
const SLICE_MS = { least: 1, most: 8 };
const TURN_MS = 25;
const MOST_IN_A_TURN = 128;
/** When the service looks again while no request may begin. */
const LOOK_MS = 50;

interface Waiting extends Entering {
  since: number;
  /** The name of the caller, where the request holds a place for reads. */
  reader: string | null;
  is_over: boolean;
}

/** The requests that hold a place, each with a function that gives it back. */
const places = new WeakMap<IncomingMessage, () => void>();

/** Gives the place of a read to another request, because this one only waits, or sends at its client's pace. */
export const restTurn = (request: IncomingMessage): void => places.get(request)?.();

export class RequestTurns {
  readonly #reads_at_once: number;
  readonly #wait_ms: number;
  readonly #monotonic: () => number;
  #rota = new Rota<Waiting>();
  /** In the order of their arrival. Those that are over are removed when they are the oldest. */
  #by_age: Waiting[] = [];
  #waiting = 0;
  #refused = 0;
  #reads = 0;
  readonly #reads_of = new Map<string, number>();
  #is_beginning = false;
  #slice_ms = SLICE_MS.most;
  /** When the first request of this turn of the event loop began; null before it. */
  #slice_at: number | null = null;
  /** When the next look was asked for: about the begin of this turn of the loop. */
  #turn_at = 0;
  #next_look: NodeJS.Immediate | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RequestTurnsOptions = {}) {
    const { reads_at_once = READS_AT_ONCE, wait_ms = WAIT_MS, monotonic = () => performance.now() } = options;
    this.#reads_at_once = reads_at_once;
    this.#wait_ms = wait_ms;
    this.#monotonic = monotonic;
  }

  /** Calls `begin`, or `refuse` when the turn does not come in time. Returns what to call when the client has left. */
  enter(entering: Entering): () => void {
    const { method } = entering.request;
    const since = this.#monotonic();
    const reader = method === 'GET' || method === 'HEAD' ? entering.of.join(' ') : null;
    const waiting: Waiting = { ...entering, since, reader, is_over: false };
    if (this.#waiting === 0 && this.#mayBegin(waiting)) this.#begin(waiting);
    else {
      this.#waiting++;
      this.#rota.add(entering.of, waiting);
      this.#by_age.push(waiting);
      this.#lookSoon();
    }
    return () => {
      if (waiting.is_over) restTurn(waiting.request);
      else this.#takeOut(waiting);
    };
  }

  measure(registry: Registry): void {
    const waiting = { name: 'http_requests_waiting', help: 'Requests that wait for their turn.' };
    openGauge(registry, waiting, () => this.#waiting);
    const help = 'Requests that were refused with 503 because their turn did not come in time.';
    openCounter(registry, { name: 'http_requests_refused_total', help }, () => this.#refused);
  }

  #mayBegin({ reader }: Waiting): boolean {
    return this.#isInSlice() && (reader === null || this.#hasPlace(reader));
  }

  #isInSlice(): boolean {
    return this.#slice_at === null || this.#monotonic() - this.#slice_at < this.#slice_ms;
  }

  #hasPlace(reader: string): boolean {
    const of_reader = this.#reads_of.get(reader) ?? 0;
    return this.#reads < this.#reads_at_once && of_reader < this.#reads_at_once / 2;
  }

  #begin(waiting: Waiting): void {
    const { reader, request } = waiting;
    waiting.is_over = true;
    if (this.#slice_at === null) {
      this.#slice_at = this.#monotonic();
      this.#lookSoon();
    }
    if (reader !== null) {
      this.#countRead(reader, 1);
      places.set(request, () => {
        places.delete(request);
        this.#countRead(reader, -1);
        // Of a request that is answered while it begins, the next one begins from the loop: a row of them would fill the stack.
        if (this.#is_beginning) this.#lookSoon();
        else this.#beginNext();
      });
    }
    this.#is_beginning = true;
    waiting.begin();
    this.#is_beginning = false;
  }

  #countRead(reader: string, change: 1 | -1): void {
    const of_reader = (this.#reads_of.get(reader) ?? 0) + change;
    if (of_reader === 0) this.#reads_of.delete(reader);
    else this.#reads_of.set(reader, of_reader);
    this.#reads += change;
  }

  #takeOut(waiting: Waiting): void {
    waiting.is_over = true;
    this.#waiting--;
  }

  #lookSoon(): void {
    if (this.#next_look) return;
    this.#turn_at = this.#monotonic();
    this.#next_look = setImmediate(() => {
      this.#next_look = null;
      this.#pace(this.#monotonic() - this.#turn_at);
      this.#look();
    });
  }

  /** Comes after each turn of the event loop in which a request began or waited. */
  #look(): void {
    this.#slice_at = null;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#refuseLate(this.#monotonic());
    if (this.#waiting === 0 && !this.#rota.isEmpty) this.#rota = new Rota();
    // Each begins in a callback of its own: what it does until it first waits is then done before the next one, and measured.
    const most = Math.min(this.#waiting, MOST_IN_A_TURN);
    let goes_on = true;
    for (let n = 0; n < most; n++) setImmediate(() => (goes_on &&= this.#beginNext()));
    if (this.#waiting > 0) this.#timer = setTimeout(() => this.#look(), LOOK_MS);
  }

  #pace(turn_ms: number): void {
    const slice_ms = turn_ms > TURN_MS ? this.#slice_ms / 2 : this.#slice_ms + 1;
    this.#slice_ms = Math.max(SLICE_MS.least, Math.min(SLICE_MS.most, slice_ms));
  }

  /** Returns whether a request began. */
  #beginNext(): boolean {
    // After the slice nobody may: the rota would ask all who wait.
    if (this.#waiting === 0 || !this.#isInSlice()) return false;
    const hasPlace = ({ reader }: Waiting) => reader === null || this.#hasPlace(reader);
    const next = this.#rota.next(hasPlace, ({ is_over }) => is_over);
    if (next === null) return false;
    this.#takeOut(next);
    this.#begin(next);
    return true;
  }

  #refuseLate(now: number): void {
    let over = 0;
    for (const waiting of this.#by_age) {
      if (!waiting.is_over && now - waiting.since < this.#wait_ms) break;
      over++;
      if (waiting.is_over) continue;
      this.#takeOut(waiting);
      this.#refused++;
      waiting.refuse();
      // Refusals take time as well.
      if (this.#monotonic() - now > SLICE_MS.most) break;
    }
    if (over > 0) this.#by_age = this.#by_age.slice(over);
  }
}
