// The state machine of one URL: its attempts, its redirects and the verdict on the last answer. It decides the next step;
// the lifecycle carries the step out.
import type { IncomingHttpHeaders } from 'node:http';
import type { EarlierAttempt, ErrorCode, Outcome, Verdict } from '../../events/checks.ts';
import { isTemporaryError, isTemporaryStatus } from '../../events/findings.ts';
import { decodeBody, decodeText, looksLikeHtml, MAX_HTML_BYTES, mayBeHtml } from './body.ts';
import type { OriginFailure } from './circuits.ts';
import type { Exchange } from './exchange.ts';
import { fingerprint, type PageMemory } from './fingerprints.ts';
import { firstOf } from './headers.ts';
import { readSigns, type Sketch, sketch } from './html.ts';
import { refreshOf } from './meta-refresh.ts';
import { MARKS_BYTES, protectionOf } from './protection.ts';
import { RedirectChain } from './redirect-chain.ts';
import { isRedirect, locationOf, nextHop, pathOf } from './redirects.ts';
import { parseRetryAfter, retryDelay } from './retries.ts';
import type { Lane, Task } from './scheduler.ts';
import { isSoft, needsProbe, type ProbeVerdict, suspicionOf } from './soft-404.ts';
import type { Granted } from './wishes.ts';

/** The step after an exchange. */
export type Step =
  /** Request `current` now. */
  | 'hop'
  /** Start another attempt after a wait. */
  | { retry_after_ms: number }
  /** Compare the page with a random sibling, then call `conclude`. */
  | 'probe'
  | Outcome;

export interface CheckRules {
  timeout_ms: number;
  retries: number;
  retry_base_ms: number;
  random: () => number;
  /** Wall clock, in milliseconds, for dates in headers. */
  wall: () => number;
  pages: PageMemory;
}

export class Check implements Task {
  readonly owner: string;
  readonly group: string;
  host: string;
  lane: Lane | null = null;
  before: Task | null = null;
  after: Task | null = null;
  list: object | null = null;

  readonly first: URL;
  /** The URL to request. `origin` and `path` cache its parts, which URL computes at each read. */
  current: URL;
  origin: string;
  path: string;
  /** Until when the addresses of `host` are known; 0 for not known yet. */
  known_until = 0;
  /** The Cookie header of the request. */
  cookie: string | null = null;
  readonly purpose: 'url' | 'probe';
  /** What its owner wishes; null for nothing. */
  granted: Granted | null = null;
  /** The root is a soft 404 only if its whole site is absent. */
  readonly #is_root: boolean;
  readonly #rules: CheckRules;

  #attempts = 0;
  #attempt_at = 0;
  #first_at = 0;
  /** When the last exchange ended. */
  #ended_at = 0;
  /** End of the attempt, by the engine's clock. */
  deadline = 0;
  #paused_at = -1;

  /** The redirects of this attempt; null before the first one. */
  #redirects: RedirectChain | null = null;

  // The last response of this attempt.
  #status: number | null = null;
  #final: URL | null = null;
  #response_time_ms: number | null = null;
  #content_type: string | null = null;
  #protection: string | null = null;
  #meta_refresh: string | null = null;
  #proxy_id: string | null = null;
  /** The attempts that were made again; null for none. */
  #earlier: EarlierAttempt[] | null = null;

  #by_circuit = false;
  #tls_detail: string | null = null;

  #points = 0;
  #work_points = 0;
  /** Sketch of the page, if the page is suspect or a probe's. */
  sketch: Sketch | null = null;

  constructor(url: URL, owner: string, group: string, purpose: 'url' | 'probe', rules: CheckRules) {
    this.first = url;
    this.current = url;
    this.host = url.hostname;
    this.origin = url.origin;
    this.path = pathOf(url);
    this.owner = owner;
    this.group = group;
    this.purpose = purpose;
    this.#is_root = this.path === '/';
    this.#rules = rules;
  }

  /** The check has a slot: the clock of its attempt runs. It stood still while the check waited between two hops. */
  started(now: number): void {
    if (this.#paused_at < 0) {
      if (this.#attempts++ === 0) this.#first_at = now;
      this.#attempt_at = now;
      this.deadline = now + this.#rules.timeout_ms;
    } else {
      const waited = now - this.#paused_at;
      this.#attempt_at += waited;
      this.deadline += waited;
    }
    this.#paused_at = -1;
  }

  /** The check gave its slot back in the middle of an attempt: the attempt's clock stands still. */
  paused(now: number): void {
    this.#paused_at = now;
  }

  /** When the check gave its slot back; negative when it has a slot or has not started. */
  get paused_at(): number {
    return this.#paused_at;
  }

  get attempts(): number {
    return this.#attempts;
  }

  get protection(): string | null {
    return this.#protection;
  }

  get status(): number | null {
    return this.#status;
  }

  /** The URL of the last response. */
  get final(): URL {
    return this.#final ?? this.current;
  }

  /** How many bytes to read of the body of an answer with these headers. */
  bytesWanted(status: number, headers: IncomingHttpHeaders): number {
    if (status >= 300) return isRedirect(status) && locationOf(headers) !== undefined ? 0 : MARKS_BYTES;
    if (!mayBeHtml(firstOf(headers, 'content-type'))) return 0;
    return this.#is_root ? MARKS_BYTES : MAX_HTML_BYTES;
  }

  /** The next step after an exchange that has ended. */
  step(exchange: Exchange, now: number): Step {
    const { failure } = exchange;
    this.#tls_detail = exchange.tls_detail;
    this.#proxy_id = exchange.connection.proxy?.endpoint.id ?? null;
    if (failure !== null) return this.stepAfter(failure, now);
    this.#ended_at = now;
    const { status, headers } = exchange;
    this.#status = status;
    this.#final = this.current;
    this.#content_type = firstOf(headers, 'content-type') ?? null;
    this.#response_time_ms = Math.max(0, Math.round(exchange.responded_at - this.#attempt_at));
    if (isRedirect(status)) {
      if (locationOf(headers) === undefined)
        this.#meta_refresh = refreshOf('', firstOf(headers, 'refresh'), this.current);
      if (!isPage(exchange) && this.#meta_refresh === null) return this.#follow(headers);
    }

    const body = bodyOf(exchange);
    if (this.#isAccepted) return this.conclude('unknown');
    this.#protection = protectionOf(status, headers, body?.toString('latin1', 0, MARKS_BYTES) ?? '');
    if (isTemporaryStatus(status) && this.#protection === null && this.#mayRetry()) {
      return this.#retry(null, parseRetryAfter(firstOf(headers, 'retry-after'), this.#rules.wall()));
    }
    const is_judged = status < 300 && this.#protection === null;
    if (is_judged && body !== null && this.#suspect(exchange, body)) return 'probe';
    return this.conclude('unknown');
  }

  /** The next step after a request that failed, or was not sent because its host has no address. */
  stepAfter(failure: ErrorCode, now: number): Step {
    this.#ended_at = now;
    return isTemporaryError(failure) && this.#mayRetry() ? this.#retry(failure, null) : this.#failed(failure);
  }

  /** The outcome of the last answer, given the verdict of its folder's probe. */
  conclude(probe: ProbeVerdict): Outcome {
    const status = this.#status!;
    if (this.#isAccepted) return this.#outcome(this.#isRedirected ? 'redirected' : 'ok', false, null);
    if (this.#protection !== null) return this.#outcome('blocked', status >= 400, null);
    if (status >= 400) return this.#outcome('broken', true, null);
    if (status < 300 && isSoft(this.#points, probe, this.#work_points)) return this.#outcome('soft_404', false, null);
    return this.#outcome(this.#isRedirected ? 'redirected' : 'ok', false, null);
  }

  /** The outcome of a URL whose origin's circuit is open: the failure of the trials decides it. */
  givenUp({ error_code, status, protection }: OriginFailure): Outcome {
    this.#by_circuit = true;
    if (error_code !== null) return this.#failed(error_code);
    this.#status = status;
    this.#final = this.current;
    this.#protection = protection;
    return this.conclude('unknown');
  }

  #follow(headers: IncomingHttpHeaders): Step {
    const next = nextHop(this.current, locationOf(headers));
    if (!next.ok) return this.#failed(next.code);
    this.#redirects ??= new RedirectChain(this.current);
    const followed = this.#redirects.follow(this.current, next.url, this.#status!, headers, this.#rules.wall());
    if (typeof followed === 'string') return this.#failed(followed);
    this.#goTo(next.url, followed.cookie);
    return 'hop';
  }

  #goTo(url: URL, cookie: string | null): void {
    this.current = url;
    this.host = url.hostname;
    this.origin = url.origin;
    this.path = pathOf(url);
    this.known_until = 0;
    this.cookie = cookie;
  }

  /** Reads the page. True when only a probe can decide whether it is a soft 404. */
  #suspect({ headers }: Exchange, body: Buffer): boolean {
    const html = decodeText(body, this.#content_type ?? '');
    if (this.#content_type === null && !looksLikeHtml(html)) return false;
    if (this.purpose === 'probe') {
      this.sketch = sketch(html, this.current.href);
      return false;
    }
    const signs = readSigns(html);
    let shared = false;
    if (!this.#is_root) {
      this.#meta_refresh = refreshOf(html, firstOf(headers, 'refresh'), this.current);
      shared = this.#rules.pages.record(this.group, this.host, fingerprint(signs, html.length));
    }
    const { points, work } = suspicionOf(html, signs, this.first, this.current, shared);
    this.#points = points;
    this.#work_points = work;
    if (!needsProbe(points, work)) return false;
    this.sketch = sketch(html, this.current.href);
    return true;
  }

  get #isRedirected(): boolean {
    return (this.#redirects?.urls.length ?? 0) > 0;
  }

  get #isAccepted(): boolean {
    return this.granted?.accepts.has(this.#status!) === true;
  }

  #mayRetry(): boolean {
    if (this.granted?.looks_twice === false) return false;
    return this.purpose === 'url' && this.#attempts <= this.#rules.retries;
  }

  #retry(error_code: ErrorCode | null, retry_after_ms: number | null): Step {
    const { random, retry_base_ms } = this.#rules;
    const earlier: EarlierAttempt = {
      status_code: this.#status,
      error_code,
      response_time_ms: this.#response_time_ms,
    };
    if (this.#proxy_id !== null) earlier.proxy_id = this.#proxy_id;
    (this.#earlier ??= []).push(earlier);
    this.#goTo(this.first, null);
    this.#redirects = null;
    this.#status = null;
    this.#final = null;
    this.#response_time_ms = null;
    this.#content_type = null;
    this.#protection = null;
    this.#proxy_id = null;
    const is_last = this.#attempts === this.#rules.retries;
    const tried_ms = this.#ended_at - this.#first_at;
    const rules = { base_ms: retry_base_ms, is_last, tried_ms };
    return { retry_after_ms: retryDelay(this.#attempts, random(), retry_after_ms, rules) };
  }

  #failed(code: ErrorCode): Outcome {
    // A failing proxy says nothing of the URL.
    return this.#outcome('unreachable', code !== 'proxy_failed', code);
  }

  #outcome(verdict: Verdict, is_broken: boolean, error_code: ErrorCode | null): Outcome {
    const outcome: Outcome = {
      status_code: this.#status,
      final_url: this.#final === null ? null : this.#final.href,
      is_broken,
      is_soft_404: verdict === 'soft_404',
      redirect_chain: this.#redirects?.urls ?? [],
      response_time_ms: this.#response_time_ms,
      content_type: this.#content_type,
      error_code,
      verdict,
      protection: this.#protection,
      attempts: this.#attempts,
    };
    if (this.#isRedirected) outcome.redirect_statuses = this.#redirects!.statuses;
    if (this.#attempts > 1) outcome.tried_ms = Math.max(0, Math.round(this.#ended_at - this.#first_at));
    if (this.#tls_detail !== null) outcome.tls_detail = this.#tls_detail;
    if (this.#by_circuit) outcome.by_circuit = true;
    if (this.#meta_refresh !== null) outcome.meta_refresh = this.#meta_refresh;
    if (this.#proxy_id !== null) outcome.proxy_id = this.#proxy_id;
    if (this.#earlier !== null) outcome.earlier_attempts = this.#earlier;
    return outcome;
  }
}

/** For one body after the other: a buffer of its own would cost eight times as much as its bytes. */
const joined = Buffer.allocUnsafeSlow(MAX_HTML_BYTES);

/** What came of the body, decompressed; null when nothing came, or nothing that can be read. Valid until the next call. */
function bodyOf({ chunks, headers }: Exchange): Buffer | null {
  if (chunks.length === 0) return null;
  let size = 0;
  if (chunks.length > 1) for (const chunk of chunks) size += chunk.copy(joined, size);
  return decodeBody(size > 0 ? joined.subarray(0, size) : chunks[0]!, firstOf(headers, 'content-encoding'));
}

/** Whether an answer with the status of a redirect has no Location and something to show: browsers show it. */
function isPage({ headers, chunks }: Exchange): boolean {
  return chunks.length > 0 && locationOf(headers) === undefined;
}
