// Answers that are sent again. Most short reads ask what was asked before, of what has not changed since: then the answer is that of last
// time, to the byte. An answer is kept with what it was made of, and each request asks anew whether all of that is still so; it is counted,
// logged and measured as any other. Decision 208 says why.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { isTraced } from '../../../events/tracing.ts';
import type { Unchanged } from '../../../events/unchanged.ts';
import type { Admitted } from '../limits/rate-limits.ts';
import { ID_HEADER, type RequestState, type Watch } from '../observe.ts';
import type { Caller, Route } from '../route.ts';
import { Making } from './making.ts';

const MOST_BYTES = 16 * 1024 * 1024;
const MOST_BYTES_OF_ONE = 512 * 1024;
/** Of the key, the headers and the entry itself, about. */
const BYTES_BESIDE = 2000;
/** The requests of which is known that they came before. The answer to a request that comes once is not worth its place. */
const MOST_ASKED = 10_000;

/** An answer may depend on the values of `IN_KEY`, and on none of the others. A request with any further header is answered anew. */
const IN_KEY = ['authorization', 'accept', 'accept-encoding'] as const;
const OF_NO_ANSWER = [
  ...['host', 'connection', 'user-agent', 'accept-language', 'cache-control', 'pragma', 'x-request-id'],
  ...['x-real-ip', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'],
  ...['sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-dest', 'sec-fetch-user', 'upgrade-insecure-requests'],
  ...['sec-ch-ua', 'sec-ch-ua-mobile', 'sec-ch-ua-platform', 'referer', 'priority', 'dnt'],
];
const KNOWN: ReadonlySet<string> = new Set([...IN_KEY, ...OF_NO_ANSWER]);
/** Each answer has its own. */
const OWN_HEADERS: ReadonlySet<string> = new Set([ID_HEADER.toLowerCase(), 'connection', 'date']);
const isOwn = (name: string) => OWN_HEADERS.has(name) || name.startsWith('x-ratelimit-');

interface Kept {
  route: Route;
  caller: Caller | null;
  made_of: readonly Unchanged[];
  headers: readonly string[];
  body: Buffer;
}

export interface RepeatsOptions {
  watch: Watch;
  clientAddress(request: IncomingMessage): string;
  /** Counts the request and returns the headers of the limits; null, and nothing is counted, where the steps of the application must. */
  admitNow?(request: Admitted & { caller: Caller | null }): Readonly<Record<string, string>> | null;
  /** The position that the user's next read waits for. */
  expected(user_id: string): string | null;
  /** Tell whether what an answer is made of is still so. Without them no answer is sent again. */
  unchanged?: {
    /** Whether the credentials are good still, and the user's account is as it was. */
    caller(caller: Caller, authorization: string): Unchanged | null;
    job(job_id: string): Unchanged | null;
    readmodels(): Unchanged | null;
  };
}

export class Repeats {
  readonly #options: RepeatsOptions;
  readonly #asked = new LRUCache<string, true>({ max: MOST_ASKED });
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MOST_BYTES,
    maxEntrySize: MOST_BYTES_OF_ONE,
    sizeCalculation: ({ body }) => body.length + BYTES_BESIDE,
  });

  constructor(options: RepeatsOptions) {
    this.#options = options;
  }

  /** Answers as last time. Returns false, and has done nothing, where the steps of the application have to answer. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#kept.size === 0 || isTraced()) return false;
    const key = keyOf(request);
    const kept = key === null ? undefined : this.#kept.get(key);
    if (!kept) return false;
    const { route, caller, headers, body } = kept;
    if (!kept.made_of.every((isUnchanged) => isUnchanged())) {
      this.#kept.delete(key!);
      return false;
    }
    const { watch, clientAddress, admitNow } = this.#options;
    const ip = clientAddress(request);
    const limits = admitNow ? admitNow({ api: route.api, caller, ip, method: 'GET' }) : {};
    if (limits === null) return false;
    const { state } = watch(request, response);
    Object.assign(state, { route, caller });
    const all = [...headers, ID_HEADER, state.request_id];
    for (const name in limits) all.push(name, limits[name]!);
    response.writeHead(200, all).end(body);
    return true;
  }

  /** Begins to note what the answer is made of; null where it is not sent again. An answer is kept when it is asked for a second time. */
  begin({ req, params }: Context, route: Route, caller: Caller | null): Making | null {
    const { unchanged, expected } = this.#options;
    if (route.made_of === null || !unchanged) return null;
    const key = keyOf(req);
    if (key === null) return null;
    if (!this.#asked.has(key)) {
      this.#asked.set(key, true);
      return null;
    }
    const making = new Making(key);
    if (caller) {
      making.add(unchanged.caller(caller, req.headers.authorization ?? ''));
      making.add(() => expected(caller.user_id) === null);
    }
    making.add(route.made_of === 'job' ? unchanged.job(params[route.job!]) : unchanged.readmodels());
    return making;
  }

  /** Keeps the answer as the other steps leave it. */
  readonly keep: Middleware = (ctx, next) => (ctx.method === 'GET' ? next().then(() => this.#keep(ctx)) : next());

  #keep({ state, status, body, respond, res }: Context): void {
    const { making, route, caller = null } = state as RequestState;
    if (!making?.of || !route || status !== 200 || respond === false) return;
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
    const headers = Object.entries(res.getHeaders()).filter(([name]) => !isOwn(name));
    this.#kept.set(making.key, {
      ...{ route, caller, made_of: making.of },
      headers: headers.flatMap(([name, value]) => [name, String(value)]),
      body: Buffer.isBuffer(body) ? body : Buffer.from(body),
    });
  }
}

/** Null where the answer may depend on more. The text may hold a token, which stays in no memory. */
function keyOf({ method, url, headers }: IncomingMessage): string | null {
  if (method !== 'GET') return null;
  for (const name in headers) if (!KNOWN.has(name)) return null;
  const text = [url, ...IN_KEY.map((name) => headers[name] ?? '')].join('\n');
  return headers.authorization === undefined ? text : hash('sha256', text, 'base64');
}
