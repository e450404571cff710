// Asks the service: once, or for as long as a component shows the answer. Operations are written as its documents write them; their types come
// from the OpenAPI document.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { SERVICE } from '../app/address.ts';
import type { Operations } from './gateway.d.ts';

export type Operation = keyof Operations;
export type AnswerOf<Name extends Operation> = Operations[Name]['answer'];
/** What the path, the query and the body take, in one object: no operation uses a name twice. */
export type Given<Name extends Operation> = Operations[Name]['path'] &
  Operations[Name]['query'] &
  (Operations[Name]['body'] extends undefined ? unknown : Operations[Name]['body']);

/** No answer, too many requests, or a service that is away: a proxy in front of it answers 502 and 504. */
const PASSING: readonly number[] = [0, 429, 502, 503, 504];

/** A refusal or failure in words. */
export class ApiError extends Error {
  /** 0 when no answer came. */
  readonly status: number;
  readonly code: string;
  /** Names the request in the service's log; null when no answer came. */
  readonly request_id: string | null;
  readonly details: unknown;
  /** The seconds after which the service wants to be asked again. */
  readonly retry_s: number | null;
  constructor(
    message: string,
    of: { status: number; code: string; request_id?: string | null; details?: unknown; retry_s?: number | null },
  ) {
    super(message);
    this.status = of.status;
    this.code = of.code;
    this.request_id = of.request_id ?? null;
    this.details = of.details;
    this.retry_s = of.retry_s ?? null;
  }

  /** Whether the same request may succeed later. */
  get is_passing(): boolean {
    return PASSING.includes(this.status);
  }
}

/** Hears of each answer that says that nobody is signed in. */
export const signedOut = new EventTarget();

interface Options {
  signal?: AbortSignal;
  /** A command that takes a query and no body. */
  in_query?: boolean;
  /** The service does a command with the same key once. */
  idempotency_key?: string;
}

/**
 * Answers with the body. Throws `ApiError`.
 * @example const job = await ask('POST /jobs/{job_id}/pause', { job_id });
 */
export async function ask<Name extends Operation>(
  name: Name,
  given: Given<Name>,
  options: Options = {},
): Promise<AnswerOf<Name>> {
  const { method, url, rest, has_body } = requestOf(name, given, options.in_query);
  const response = await fetch(url, {
    method,
    signal: options.signal,
    headers: {
      ...SAME_SITE,
      ...(has_body && { 'Content-Type': 'application/json' }),
      ...(options.idempotency_key && { 'Idempotency-Key': options.idempotency_key }),
    },
    ...(has_body && { body: JSON.stringify(rest) }),
  }).catch(noAnswer);
  return (await bodyOf(response)) as AnswerOf<Name>;
}

/** An idempotency key. `crypto.randomUUID` is missing on addresses without TLS. */
export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Shows the service that a page of its own asks: pages of other sites cannot send this header. */
export const SAME_SITE = { 'X-Console': '1' };

/**
 * The address of an operation that the browser itself asks, such as a download.
 * @example <a href={urlOf('GET /jobs/{job_id}/export', { job_id, format: 'csv' })} download>
 */
export const urlOf = <Name extends Operation>(name: Name, given: Given<Name>): string => requestOf(name, given).url;

function requestOf(name: string, given: object, in_query = false) {
  const [method, path] = name.split(' ') as [string, string];
  const rest: Record<string, unknown> = { ...given };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, part: string) => {
    const value = encodeURIComponent(String(rest[part]));
    delete rest[part];
    return value;
  });
  const has_body = method !== 'GET' && method !== 'DELETE' && !in_query;
  return { method, url: `${SERVICE}${filled}${has_body ? '' : queryOf(rest)}`, rest, has_body };
}

export function queryOf(given: object): string {
  const set = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  return set.length === 0 ? '' : `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)]))}`;
}

async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  // An answer that breaks off is none.
  if (response.ok) return response.json().catch(noAnswer);
  const body = await response.json().catch(() => null);
  throw refusalOf(response.status, body, (header) => response.headers.get(header));
}

interface Problem {
  loc: (string | number)[];
  msg: string;
}

/** Who waits for `signedOut` hears of a refusal for want of a session. */
export function refusalOf(status: number, body: unknown, header: (name: string) => string | null): ApiError {
  const { detail, code, details } = (body ?? {}) as { detail?: string | Problem[]; code?: string; details?: unknown };
  const message = Array.isArray(detail)
    ? detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ')
    : (detail ?? `The service answered with status ${status}.`);
  const retry_s = Number(header('retry-after')) || null;
  if (status === 401) signedOut.dispatchEvent(new Event('change'));
  return new ApiError(message, {
    status,
    code: code ?? 'validation_error',
    request_id: header('x-request-id'),
    details,
    retry_s,
  });
}

function noAnswer(cause: unknown): never {
  if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
  throw new ApiError('The service cannot be reached.', { status: 0, code: 'unreachable' });
}

/** An answer as a component shows it: it waits, it has a value, it failed, or its value is no longer current. */
export interface Answer<Value> {
  /** The last value: it stays while a newer one is asked for. Undefined before the first. */
  value: Value | undefined;
  /** Why there is no newer value. */
  error: ApiError | null;
  is_waiting: boolean;
  /** Asks again. */
  again(): void;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Asks once for each different `given`, and again for another `version`; null asks nothing. While the service is away it
 * tries again, so that a page survives a restart.
 * @example const stats = useAnswer('GET /jobs/{job_id}/stats', { job_id });
 */
export function useAnswer<Name extends Operation>(
  name: Name,
  given: Given<Name> | null,
  version = '',
): Answer<AnswerOf<Name>> {
  const wanted = given === null ? null : JSON.stringify(given);
  const [asked, setAsked] = useState(0);
  const [answer, setAnswer] = useState<Omit<Answer<AnswerOf<Name>>, 'again'>>({
    ...{ value: undefined, error: null, is_waiting: wanted !== null },
  });
  const tries = useRef(0);

  useEffect(() => {
    if (wanted === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setAnswer((last) => ({ ...last, is_waiting: true }));
    ask(name, JSON.parse(wanted) as Given<Name>, { signal: abort.signal })
      .then((value) => {
        tries.current = 0;
        setAnswer({ value, error: null, is_waiting: false });
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        setAnswer((last) => ({ ...last, error, is_waiting: false }));
        if (!error.is_passing) return;
        const wait_ms = Math.min(
          LONGEST_RETRY_MS,
          (error.retry_s ?? 0) * 1000 || FIRST_RETRY_MS * 2 ** tries.current++,
        );
        timer = setTimeout(() => setAsked((n) => n + 1), wait_ms);
      });
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [name, wanted, asked, version]);

  const again = useCallback(() => setAsked((n) => n + 1), []);
  return { ...answer, again };
}

/**
 * Keeps an answer current: it is asked for again some time after each answer. A failure is tried again by `useAnswer` itself. Null asks no more.
 * @example useEvery(2000, services)
 */
export function useEvery(wait_ms: number | null, { again, is_waiting, error }: Answer<unknown>): void {
  useEffect(() => {
    if (wait_ms === null || is_waiting || error) return;
    const timer = setTimeout(again, wait_ms);
    return () => clearTimeout(timer);
  }, [again, is_waiting, error, wait_ms]);
}
