// The streams `checks-{jobId}-{batch}`: the outcomes of a job's URLs. An event tells of some URLs of a batch, those whose outcomes
// were known then. A checker appends it at the revision after the events whose URLs it has left out, so that the log holds each URL
// of a job once.

import { type DataOf, event } from './event-spec.ts';
import { Nullable, type Static, Type } from './schema.ts';

/** What each verdict says of a URL. */
export const VERDICT_MEANINGS = {
  ok: 'loads normally',
  redirected: 'redirects to another address',
  broken: 'answers 4xx or 5xx',
  soft_404: 'says 200, but the page is missing',
  blocked: 'bot protection answered: possibly alive',
  unreachable: 'no answer',
};
export type Verdict = keyof typeof VERDICT_MEANINGS;
export const VERDICTS = Object.keys(VERDICT_MEANINGS) as readonly Verdict[];

/** Why no answer came, or none that counts, in a few words. */
export const ERROR_MEANINGS = {
  dns_not_found: 'no such name',
  dns_failed: 'its name could not be looked up',
  connection_refused: 'connection refused',
  connection_reset: 'the connection was cut',
  connect_timeout: 'no connection within the time limit',
  response_timeout: 'no answer within the time limit',
  tls_expired: 'certificate expired',
  tls_hostname: 'certificate of another host',
  tls_untrusted: 'certificate not trusted',
  tls_failed: 'TLS failed',
  too_many_redirects: 'too many redirects',
  redirect_loop: 'redirects in a loop',
  invalid_redirect: 'redirects to nowhere',
  blocked_address: 'a private address',
  proxy_failed: 'no proxy got through to it',
  malformed_response: 'not an HTTP answer',
  invalid_url: 'not a URL',
  checker_fault: 'the checker itself failed over it',
};
export type ErrorCode = keyof typeof ERROR_MEANINGS;
export const ERROR_CODES = Object.keys(ERROR_MEANINGS) as readonly ErrorCode[];

/**
 * The most characters that an event keeps of a text that a server sent. With the most redirects and bytes a character an
 * event still fits one append of every store.
 */
export const MAX_FOUND_URL_CHARS = 8192;
export const MAX_CONTENT_TYPE_CHARS = 256;
const MAX_PROTECTION_CHARS = 64;
const MAX_TLS_DETAIL_CHARS = 400;
/** The most hops that an event keeps; a check follows fewer. */
const MAX_REDIRECTS_KEPT = 21;

const foundUrl = (description?: string) =>
  Type.String({ maxLength: MAX_FOUND_URL_CHARS, ...(description ? { description } : {}) });

/** The outcome of one URL. */
export const Outcome = Type.Object({
  status_code: Nullable(Type.Integer({ description: 'Status code of the last response; null when none came.' })),
  final_url: Nullable(foundUrl('The URL of the last response, after redirects; null when no response came.')),
  is_broken: Type.Boolean({ description: 'True for 4xx, 5xx and unreachable URLs.' }),
  is_soft_404: Type.Boolean({ description: 'True for a 2xx page that says that the page does not exist.' }),
  redirect_chain: Type.Array(foundUrl(), {
    maxItems: MAX_REDIRECTS_KEPT,
    description: 'The redirect targets that the check followed, in order.',
  }),
  response_time_ms: Nullable(
    Type.Integer({ description: "Time from the start of the last attempt to the last response's headers." }),
  ),
  content_type: Nullable(Type.String({ maxLength: MAX_CONTENT_TYPE_CHARS })),
  error_code: Nullable(Type.Enum(ERROR_CODES)),
  verdict: Type.Enum(VERDICTS, {
    description: `${VERDICTS.map((verdict) => `\`${verdict}\`: ${VERDICT_MEANINGS[verdict]}`).join('; ')}.`,
  }),
  protection: Nullable(
    Type.String({
      maxLength: MAX_PROTECTION_CHARS,
      description:
        'The bot protection product whose marks the answer bears; `bot_policy` where the site refuses programs by itself, `geo_block` where it ' +
        'refuses a country, `challenge` for a page that wants a human and names no product; null for none.',
    }),
  ),
  attempts: Type.Integer({
    minimum: 0,
    description:
      'Attempts made. 0 when an open circuit of the origin decided the outcome without a request, as `by_circuit` says.',
  }),
  meta_refresh: Type.Optional(foundUrl("The target of the page's meta refresh; the check does not follow it.")),
  tried_ms: Type.Optional(
    Type.Integer({
      description:
        'Milliseconds from the start of the first attempt to the end of the last one. Missing for fewer than two attempts.',
    }),
  ),
  tls_detail: Type.Optional(
    Type.String({
      maxLength: MAX_TLS_DETAIL_CHARS,
      description:
        'What is wrong with the certificate or the handshake, in words for the owner of the site. Missing without an error of TLS.',
    }),
  ),
  by_circuit: Type.Optional(
    Type.Literal(true, {
      description:
        'True when this URL was not requested, because other URLs of its origin failed again and again: it has the failure of the last of ' +
        'them. Missing otherwise.',
    }),
  ),
});

const { status_code, error_code, response_time_ms, ...different } = Outcome.properties;
/** Results show them as `redirects`. */
const redirect_statuses = Type.Optional(
  Type.Array(Type.Integer(), {
    maxItems: MAX_REDIRECTS_KEPT,
    description:
      'The status of the answer that redirected to each URL of the chain. Missing in events of before it was recorded.',
  }),
);
const ProxyId = Type.String({ description: 'The proxy that the request went through, by the id of its stream.' });

/** The most earlier attempts that an event keeps; the settings allow fewer. */
const MAX_EARLIER_ATTEMPTS = 10;
/** An attempt that was made again. */
export const EarlierAttempt = Type.Object({
  status_code,
  error_code,
  response_time_ms,
  proxy_id: Type.Optional(ProxyId),
});
export type EarlierAttempt = Static<typeof EarlierAttempt>;

/** How the outcome was found: the log's readers see it, and results do not show it. */
const found_by = {
  redirect_statuses,
  /** Null or missing without a proxy, and in events of before it was recorded. */
  proxy_id: Type.Optional(Nullable(ProxyId)),
  /** In order. Missing when the first attempt was the last, and in events of before they were recorded. */
  earlier_attempts: Type.Optional(Type.Array(EarlierAttempt, { minItems: 1, maxItems: MAX_EARLIER_ATTEMPTS })),
};
const FoundBy = Type.Object(found_by);
export type Outcome = Static<typeof Outcome> & Static<typeof FoundBy>;

/** The fields whose values most URLs of a range share. */
const Shared = Type.Pick(Outcome, [
  'status_code',
  'is_broken',
  'is_soft_404',
  'content_type',
  'error_code',
  'verdict',
  'protection',
  'attempts',
]);

/** Batches have at most this many URLs, and so have ranges. */
export const MAX_RANGE_URLS = 100;

/** Version 1 has no `mask`: it tells of every URL of its range. Its readers would overlook one, so they must refuse version 2. */
const EVERY_URL = (version_1: unknown) => version_1;

/** Readers get an outcome for each URL from `unfold`. The URLs are those of the job's `UrlsListed`. */
export const CHECKS_EVENTS = {
  URLChecked: event(
    {
      job_id: Type.String(),
      from_index: Type.Integer({
        minimum: 0,
        description: 'Index in the job of the first URL, in order of submission.',
      }),
      mask: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]+$',
          description:
            'The URLs of the range that the event tells of, in hexadecimal digits: the digit n stands for the URLs 4n to 4n+3, ' +
            'its lowest bit for the first of them. Missing when these are all URLs of the range.',
        }),
      ),
      response_times_ms: Type.Array(response_time_ms, {
        minItems: 1,
        maxItems: MAX_RANGE_URLS,
        description: 'One for each URL that the event tells of, in order; its length says how many these are.',
      }),
      usual: Type.Partial(Type.Object({ ...Shared.properties, proxy_id: ProxyId }), {
        description: 'The outcome of most URLs of the event. A missing field has its value of `USUAL`.',
      }),
      differences: Type.Array(
        Type.Object({
          at: Type.Integer({ minimum: 0, description: 'Place in `response_times_ms`.' }),
          ...Type.Partial(Type.Object({ status_code, error_code, ...different, ...found_by })).properties,
        }),
        { description: 'The fields in which single URLs differ from `usual`, in order of `at`.' },
      ),
    },
    EVERY_URL,
  ),
};
export type URLChecked = DataOf<typeof CHECKS_EVENTS.URLChecked>;

/** Cuts the texts and the redirect chain of an outcome to the limits above. An outcome within them is returned as it is. */
export function boundedOutcome(outcome: Outcome): Outcome {
  const { final_url, redirect_chain, redirect_statuses, content_type, protection, meta_refresh, earlier_attempts } =
    outcome;
  const fits =
    isWithin(final_url, MAX_FOUND_URL_CHARS) &&
    isWithin(content_type, MAX_CONTENT_TYPE_CHARS) &&
    isWithin(protection, MAX_PROTECTION_CHARS) &&
    isWithin(meta_refresh, MAX_FOUND_URL_CHARS) &&
    isWithin(outcome.tls_detail, MAX_TLS_DETAIL_CHARS) &&
    redirect_chain.length <= MAX_REDIRECTS_KEPT &&
    (earlier_attempts?.length ?? 0) <= MAX_EARLIER_ATTEMPTS &&
    redirect_chain.every((url) => isWithin(url, MAX_FOUND_URL_CHARS));
  if (fits) return outcome;
  return {
    ...outcome,
    final_url: final_url && cut(final_url, MAX_FOUND_URL_CHARS),
    redirect_chain: redirect_chain.slice(0, MAX_REDIRECTS_KEPT).map((url) => cut(url, MAX_FOUND_URL_CHARS)),
    ...(redirect_statuses ? { redirect_statuses: redirect_statuses.slice(0, MAX_REDIRECTS_KEPT) } : {}),
    content_type: content_type && cut(content_type, MAX_CONTENT_TYPE_CHARS),
    protection: protection && cut(protection, MAX_PROTECTION_CHARS),
    ...(meta_refresh ? { meta_refresh: cut(meta_refresh, MAX_FOUND_URL_CHARS) } : {}),
    ...(outcome.tls_detail ? { tls_detail: cut(outcome.tls_detail, MAX_TLS_DETAIL_CHARS) } : {}),
    ...(earlier_attempts ? { earlier_attempts: earlier_attempts.slice(-MAX_EARLIER_ATTEMPTS) } : {}),
  };
}

const isWithin = (text: string | null | undefined, chars: number) => (text?.length ?? 0) <= chars;
/** Half a surrogate pair at the cut becomes U+FFFD. */
const cut = (text: string, chars: number) => text.slice(0, chars).toWellFormed();

const CHECKER = 'checker';
const WORKER_CHARS = 8;
/** The `actor` of a checker's events: `checker:` and the beginning of its id, which it draws at each start. */
export const checkerActor = (checker_id: string) => `${CHECKER}:${checker_id.slice(0, WORKER_CHARS)}`;
/** The checker that appended an event; null in events of before their actor named it. */
export const workerOf = (actor: string): string | null =>
  actor.startsWith(`${CHECKER}:`) ? actor.slice(CHECKER.length + 1) : null;
