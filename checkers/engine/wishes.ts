// What the owner of a job wishes for its checks, within the engine's own settings. All checks of a job share one object.

export interface Wishes {
  /** Answers with these status codes are never broken. */
  accept_status_codes?: readonly number[];
  /** Least time between two requests of the group to one host. */
  host_gap_ms?: number;
  /** Headers of the requests to named hosts; names in lower case. */
  headers?: readonly { host: string; headers: Readonly<Record<string, string>> }[];
  /** What follows the engine's User-Agent. */
  user_agent_suffix?: string;
  /** False: a failed URL is not tried again. */
  look_twice?: boolean;
}

/** Names and values that every request carries, in the order in which they are sent. */
type Headers = readonly string[];

/** The wishes as the engine uses them. */
export class Granted {
  readonly host_gap_ms: number;
  readonly accepts: ReadonlySet<number>;
  readonly looks_twice: boolean;
  readonly #suffix: string;
  readonly #of_hosts = new Map<string, string[]>();
  /** The whole headers by host; '' for the hosts that are not named. */
  readonly #whole = new Map<string, Headers>();

  constructor({ host_gap_ms = 0, accept_status_codes = [], look_twice = true, ...wishes }: Wishes) {
    this.host_gap_ms = host_gap_ms;
    this.accepts = new Set(accept_status_codes);
    this.looks_twice = look_twice;
    this.#suffix = wishes.user_agent_suffix === undefined ? '' : ` ${wishes.user_agent_suffix}`;
    for (const { host, headers } of wishes.headers ?? []) {
      const name = URL.parse(`http://${host}/`)?.hostname ?? host.toLowerCase();
      this.#of_hosts.set(name, [...(this.#of_hosts.get(name) ?? []), ...Object.entries(headers).flat()]);
    }
  }

  /**
   * The headers of a request, made of the engine's own. `is_downgraded`: the check began with https, and this request is none: it gets
   * nothing that may be a secret.
   */
  headersOf(host: string, own: Headers, is_downgraded: boolean): Headers {
    const key = this.#of_hosts.has(host) && !is_downgraded ? host : '';
    let whole = this.#whole.get(key);
    if (whole === undefined) {
      whole = withHeaders(own, this.#of_hosts.get(key) ?? [], this.#suffix);
      this.#whole.set(key, whole);
    }
    return whole;
  }
}

function withHeaders(own: Headers, named: readonly string[], suffix: string): Headers {
  const names = new Set(named.filter((_, at) => at % 2 === 0));
  const whole: string[] = [];
  for (let at = 0; at < own.length; at += 2) {
    const [name, value] = [own[at]!, own[at + 1]!];
    if (names.has(name.toLowerCase())) continue;
    whole.push(name, name === 'User-Agent' ? value + suffix : value);
  }
  return [...whole, ...named];
}

/** Grants each object of wishes once, so that all checks of a job share what is made of it. */
export class Grants {
  readonly #granted = new WeakMap<Wishes, Granted>();

  of(wishes: Wishes): Granted {
    let granted = this.#granted.get(wishes);
    if (granted === undefined) {
      granted = new Granted(wishes);
      this.#granted.set(wishes, granted);
    }
    return granted;
  }
}
