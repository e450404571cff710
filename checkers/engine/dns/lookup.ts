// Looks names up as the machine's own resolver does: /etc/hosts, then the name servers and the search list of resolv.conf. It
// needs none of libuv's four threads. A name fails only where a server is of use; while none is, all names wait. Decision 135 says why.
import type { Answer, Lookup, NoAnswer } from '../resolver.ts';
import { ASK_AGAIN_MS, Calibration } from './calibration.ts';
import { FamilyQueries, type Found } from './families.ts';
import { fitsMessage } from './message.ts';
import type { QueryRules } from './query.ts';
import { NameServers } from './servers.ts';
import { parseEndpoint, parseResolvConf, type ResolvConf, readSystem } from './system.ts';

export interface DnsOptions {
  /** Such as `127.0.0.1:53`, instead of the system's. */
  servers?: readonly string[];
  /** Called with the reason when no name server is of use, and with null when one is again. */
  away?: (reason: string | null) => void;
  /** The first wait for a server. */
  timeout_ms?: number;
  /** Whether IPv6 addresses can be reached, instead of what the interfaces say. */
  has_ipv6?: boolean;
}

const TIMEOUT_MS = 1500;
const ATTEMPTS = 3;
/** A server that failed once is asked again, whatever resolv.conf says. */
const LEAST_ATTEMPTS = 2;
/** Names queried at once. More would overflow the receive buffers of small name servers. */
const BURST_NAMES = 64;
/** A query frees its place in the burst after this long, answered or not. */
const BURST_MS = 500;
const HOSTS_TTL_S = 300;
/** DNS has no names under these (RFC 7686, RFC 6761), so no server has to answer for them. */
const NO_DNS = ['.onion', '.invalid'];

interface AskedName {
  /** The names to ask for, in order. */
  readonly candidates: readonly string[];
  readonly done: (answer: Answer | NoAnswer) => void;
  queries: FamilyQueries | null;
}

export class DnsLookup {
  readonly #options: DnsOptions;
  readonly #system = readSystem(() => performance.now());
  readonly #conf: ResolvConf | null;
  readonly #servers = new NameServers();
  readonly #waiting: AskedName[] = [];
  readonly #running = new Set<AskedName>();
  #in_burst = 0;
  readonly #calibration: Calibration;
  #is_closed = false;

  constructor(options: DnsOptions = {}) {
    this.#options = options;
    const { servers } = options;
    this.#conf = servers === undefined ? null : { ...parseResolvConf(''), servers: servers.map(parseEndpoint) };
    this.#calibration = new Calibration({
      servers: this.#servers,
      rules: () => this.#rules(),
      away: (reason) => {
        options.away?.(reason);
        if (reason === null) this.#startSome();
      },
      tryName: () => this.#startNext(),
    });
  }

  readonly lookup: Lookup = (name, done) => {
    const { hosts } = this.#system();
    const plain = withoutDot(name);
    const own = hosts.get(plain) ?? (isLocalhost(plain) ? ['127.0.0.1', '::1'] : undefined);
    if (own !== undefined) return done({ addresses: own, ttl_s: HOSTS_TTL_S, own: true });
    const names = candidates(name, this.#resolvConf());
    if (names.length === 0) return done({ code: 'dns_not_found' });
    this.#calibration.begin();
    this.#waiting.push({ candidates: names, done, queries: null });
    this.#startSome();
  };

  close(): void {
    this.#is_closed = true;
    this.#calibration.close();
    for (const { queries } of this.#running) queries?.close();
    this.#running.clear();
    this.#waiting.length = 0;
  }

  #resolvConf(): ResolvConf {
    return this.#conf ?? this.#system().conf;
  }

  #rules(): QueryRules {
    const conf = this.#resolvConf();
    return {
      servers: this.#servers.inOrder(conf),
      attempts: Math.max(conf.attempts ?? ATTEMPTS, LEAST_ATTEMPTS),
      timeout_ms: this.#options.timeout_ms ?? conf.timeout_ms ?? TIMEOUT_MS,
      tcp_only: conf.tcp_only,
      has_ipv6: this.#options.has_ipv6 ?? this.#system().has_ipv6,
      heard: this.#heard,
      unanswered: this.#unanswered,
    };
  }

  #startSome(): void {
    while (this.#in_burst < BURST_NAMES && !this.#calibration.are_away && this.#waiting.length > 0) this.#startNext();
  }

  #startNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#start(next);
  }

  #start(one: AskedName): void {
    this.#running.add(one);
    this.#in_burst++;
    let in_burst = true;
    const leave = (): void => {
      if (!in_burst) return;
      in_burst = false;
      clearTimeout(timer);
      this.#in_burst--;
      if (!this.#is_closed) this.#startSome();
    };
    const timer = setTimeout(leave, BURST_MS);
    timer.unref();
    this.#ask(one, 0, (answer) => {
      this.#running.delete(one);
      leave();
      if (answer === 'again') {
        this.#waiting.push(one);
        this.#startSome();
      } else {
        one.done(answer);
      }
    });
  }

  /** Asks for the candidates from `n` on. 'again': no server was of use, so the name may have an answer. */
  #ask(one: AskedName, n: number, done: (answer: Answer | NoAnswer | 'again') => void): void {
    one.queries = new FamilyQueries(one.candidates[n]!, this.#rules(), (found: Found, asked_last_at) => {
      const code = found === 'silent' ? 'dns_failed' : 'code' in found ? found.code : null;
      if (code === 'shortage') return done({ code });
      if (code === 'dns_failed') {
        // Servers that were away meanwhile have said nothing of the name.
        const judge = (are_well: boolean) =>
          done(are_well && this.#servers.back_at < asked_last_at ? { code } : 'again');
        return void this.#calibration.ask(judge);
      }
      this.#calibration.answered();
      if (code !== null && n + 1 < one.candidates.length) this.#ask(one, n + 1, done);
      else done(found as Answer | NoAnswer);
    });
  }

  readonly #heard = (): void => {
    this.#servers.heard_at = performance.now();
  };

  readonly #unanswered = (): void => {
    if (performance.now() - this.#servers.heard_at > ASK_AGAIN_MS) this.#calibration.look();
  };
}

/**
 * The names to ask for, in order. A name with a dot may be a public one, so it comes before those of the search list, which local
 * zones could answer in its place. A dot at its end says that it is whole.
 * @example candidates('box', { search: ['lan.example'], ndots: 1 }) // ['box.lan.example', 'box']
 */
export function candidates(written: string, { search, ndots }: Pick<ResolvConf, 'search' | 'ndots'>): string[] {
  const name = withoutDot(written);
  if (NO_DNS.some((suffix) => name.endsWith(suffix))) return [];
  const dots = name.split('.').length - 1;
  const suffixed = name === written && dots < ndots ? search.map((suffix) => `${name}.${suffix}`) : [];
  return (dots === 0 ? [...suffixed, name] : [name, ...suffixed]).filter(fitsMessage);
}

const withoutDot = (name: string) => (name.endsWith('.') ? name.slice(0, -1) : name);

function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}
