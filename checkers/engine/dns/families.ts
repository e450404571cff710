// The queries for the IPv4 and the IPv6 addresses of a name, also of the name that its aliases lead to.
import type { Answer, NoAnswer } from '../resolver.ts';
import { fitsMessage } from './message.ts';
import { AddressQuery, type QueryResult, type QueryRules } from './query.ts';

/** 'silent': no server was heard. */
export type Found = Answer | NoAnswer | 'silent';

/** How long the addresses of one family wait for the other family, for which some servers never answer (RFC 8305, 3). */
const OTHER_FAMILY_MS = 300;
/** Further queries for the last name of a chain of aliases. */
const MAX_ALIAS_QUERIES = 8;

export class FamilyQueries {
  #rules: QueryRules;
  readonly #done: (found: Found, asked_last_at: number) => void;
  /** IPv4 comes first, because more machines can reach it. */
  #queries: readonly AddressQuery[] = [];
  #results: (QueryResult | null)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #alias_queries = 0;
  /** The name that is asked for: at first the one that was wanted, then an alias. */
  #name = '';

  /** Calls `done` once, unless it is closed before. `asked_last_at`: when the last try began, by `performance.now()`. */
  constructor(name: string, rules: QueryRules, done: (found: Found, asked_last_at: number) => void) {
    this.#rules = rules;
    this.#done = done;
    this.#ask(name);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const query of this.#queries) query.close();
  }

  /** Some servers know a name in lower case only: none is absent before it was asked for so. */
  #mayMistakeCase(): boolean {
    return this.#rules.is_plain !== true && this.#rules.servers.some(({ keeps_case }) => keeps_case);
  }

  #ask(name: string): void {
    this.#name = name;
    this.#results = [null, null];
    this.#queries = this.#rules.has_ipv6 ? [this.#query('A', 0), this.#query('AAAA', 1)] : [this.#query('A', 0)];
  }

  #query(type: 'A' | 'AAAA', at: number): AddressQuery {
    return new AddressQuery(this.#name, type, this.#rules, (result) => this.#answered(at, result));
  }

  #answered(at: number, result: QueryResult): void {
    this.#results[at] = result;
    if (this.#results.every((one) => one !== null)) this.#finish();
    else if (!this.#rules.has_ipv6) this.#answeredAlone(result);
    else if (hasAddresses(result)) this.#timer = setTimeout(() => this.#finish(), OTHER_FAMILY_MS);
  }

  /** Out of reach, IPv6 addresses only show that a name without IPv4 is there. */
  #answeredAlone(v4: QueryResult): void {
    if (v4.kind === 'none' && v4.alias === null) this.#queries = [...this.#queries, this.#query('AAAA', 1)];
    else this.#finish();
  }

  #finish(): void {
    this.close();
    const results = this.#results.filter((one) => one !== null);
    const alias = aliasOf(results);
    if (alias !== null && fitsMessage(alias) && ++this.#alias_queries <= MAX_ALIAS_QUERIES)
      return void this.#ask(alias);
    const found: Found = alias === null ? combine(results) : { code: 'dns_failed' };
    if (isAbsent(found) && this.#mayMistakeCase()) {
      const { servers } = this.#rules;
      // An empty answer that names no zone (RFC 2308, 2.2) may come from a server that knows nothing: the next one is asked before it.
      const is_vague = results.every((result) => result.kind === 'none' && result.ttl_s === null);
      this.#rules = {
        ...this.#rules,
        is_plain: true,
        servers: is_vague ? [...servers.slice(1), servers[0]!] : servers,
      };
      return void this.#ask(this.#name);
    }
    this.#done(found, Math.max(...this.#queries.map(({ asked_last_at }) => asked_last_at)));
  }
}

type Addresses = Extract<QueryResult, { kind: 'found' }>;

const hasAddresses = (result: QueryResult): result is Addresses =>
  result.kind === 'found' && result.addresses.length > 0;

/** The alias whose addresses no message had. */
function aliasOf(results: readonly QueryResult[]): string | null {
  if (results.some((result) => result.kind === 'missing' || hasAddresses(result))) return null;
  for (const result of results) if (result.kind === 'none' && result.alias !== null) return result.alias;
  return null;
}

function combine(results: readonly QueryResult[]): Found {
  const some = results.filter(hasAddresses);
  if (some.length > 0) {
    return {
      addresses: some.flatMap(({ addresses }) => addresses),
      ttl_s: Math.min(...some.map(({ ttl_s }) => ttl_s)),
    };
  }
  // Some servers say of a name without IPv6 that there is no such name (RFC 4074, 4.2): it is absent if they answer for IPv4, too.
  const missing = isAnswer(results[0]!) ? results.find(({ kind }) => kind === 'missing') : undefined;
  if (missing?.kind === 'missing') return absent(missing.ttl_s);
  if (results.some(({ kind }) => kind === 'shortage')) return { code: 'shortage' };
  if (results.every(({ kind }) => kind === 'none')) {
    const [first] = results;
    return absent(first?.kind === 'none' ? first.ttl_s : null);
  }
  return results.every(({ kind }) => kind === 'silent') ? 'silent' : { code: 'dns_failed' };
}

const isAnswer = ({ kind }: QueryResult) => kind === 'found' || kind === 'none' || kind === 'missing';
const absent = (ttl_s: number | null): NoAnswer => ({ code: 'dns_not_found', ...(ttl_s !== null && { ttl_s }) });
const isAbsent = (found: Found) => found !== 'silent' && 'code' in found && found.code === 'dns_not_found';
