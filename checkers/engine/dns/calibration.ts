// Whether the name servers are of use at all. The failure of a name is its own only where they answer for the root: servers that
// say nothing, or fail for everything as a resolver without an uplink does, are a fault of this machine's network.
import { AddressQuery, type QueryResult, type QueryRules } from './query.ts';
import type { NameServers } from './servers.ts';

/** The wait between two questions while the servers are away. */
export const ASK_AGAIN_MS = 1000;
const TRIES = 2;
/** Servers that never answered for the root, since they refuse it, work as long as another name had an answer within this time. */
const LATELY_MS = 60_000;

interface Judgement {
  /** Only a question asked after this time says how the servers are. */
  readonly since: number;
  readonly done: (are_well: boolean) => void;
}

export interface CalibrationOwner {
  readonly servers: NameServers;
  rules(): QueryRules;
  /** With the reason when the servers are away, and with null when they are back. */
  away(reason: string | null): void;
  /** Called each second while the servers are away: they may answer for a name and not for the root. */
  tryName(): void;
}

export class Calibration {
  readonly #owner: CalibrationOwner;
  #question: AddressQuery | null = null;
  #asked_at = 0;
  #timer: NodeJS.Timeout | undefined;
  #waiting: Judgement[] = [];
  /** When the servers last answered for any name. */
  #useful_at = Number.NEGATIVE_INFINITY;
  #reason: string | null = null;
  #is_closed = false;

  constructor(owner: CalibrationOwner) {
    this.#owner = owner;
  }

  get are_away(): boolean {
    return this.#reason !== null;
  }

  close(): void {
    this.#is_closed = true;
    clearTimeout(this.#timer);
    this.#question?.close();
    this.#waiting = [];
  }

  /** Finds out whether the servers answer for the root, before it matters. */
  begin(): void {
    if (this.#asked_at === 0) this.look();
  }

  /** A name was answered: with addresses, or that it has none. */
  answered(): void {
    this.#useful_at = performance.now();
    if (!this.are_away) return;
    this.#owner.servers.know_root = false;
    this.#tell(null);
  }

  /**
   * Calls `done` when it is known whether the servers are well, by a question that is asked after this call: a moment ago they may
   * still have been. Not at all after `close`.
   */
  ask(done: (are_well: boolean) => void): void {
    this.#waiting.push({ since: performance.now(), done });
    this.look();
  }

  /** Asks for the root, unless that is being asked. */
  look(): void {
    if (this.#question !== null || this.#is_closed) return;
    clearTimeout(this.#timer);
    this.#asked_at = performance.now();
    const rules = this.#owner.rules();
    const timeout_ms = Math.min(rules.timeout_ms, ASK_AGAIN_MS);
    const question = { ...rules, attempts: TRIES, timeout_ms, unanswered() {} };
    this.#question = new AddressQuery('.', 'NS', question, ({ kind }) => this.#answered(kind));
  }

  #answered(kind: QueryResult['kind']): void {
    this.#question = null;
    const { servers } = this.#owner;
    const is_answer = kind === 'found' || kind === 'missing' || kind === 'none';
    if (is_answer) servers.know_root = true;
    const are_well = is_answer || (!servers.know_root && this.#doOthersAnswer(kind));
    const waiting = this.#waiting;
    if (are_well) this.#tell(null);
    else if (kind === 'silent') this.#tell(`no name server answers (${servers})`);
    else if (kind === 'failed' && waiting.length > 0) this.#tell(`the name servers fail for every name (${servers})`);
    this.#waiting = are_well ? waiting.filter(({ since }) => since > this.#asked_at) : [];
    for (const { since, done } of waiting) if (!are_well || since <= this.#asked_at) done(are_well);
    if (this.#is_closed) return;
    if (this.are_away) this.#timer = setTimeout(this.#lookAgain, ASK_AGAIN_MS);
    else if (this.#waiting.length > 0) this.look();
  }

  #doOthersAnswer(kind: QueryResult['kind']): boolean {
    if (kind === 'silent') return this.#owner.servers.heard_at >= this.#asked_at;
    return kind === 'failed' && performance.now() - this.#useful_at < LATELY_MS;
  }

  readonly #lookAgain = (): void => {
    this.#owner.tryName();
    this.look();
  };

  #tell(reason: string | null): void {
    if (reason === this.#reason) return;
    this.#reason = reason;
    if (reason === null) this.#owner.servers.back_at = performance.now();
    this.#owner.away(reason);
  }
}
