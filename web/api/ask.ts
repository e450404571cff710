// Asks the service. Operations are written as its documents write them; their types come from the OpenAPI document.
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
