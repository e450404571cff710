// The streams `checks-{jobId}-{batch}`: what checking each URL of a job found. One event a URL, appended a batch at a
// time at the revision that its range implies, so that no URL of a job can be counted twice.

import { type Static, Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Nullable } from './nullable.ts';

/** What each verdict says of a URL. */
export const VERDICT_MEANINGS = {
  ok: 'answers as it should',
  redirected: 'answers somewhere else',
  broken: 'answers with an error',
  soft_404: 'says 200, but there is nothing there',
  blocked: 'bot protection answered: not proven dead',
  unreachable: 'no answer',
};
export type Verdict = keyof typeof VERDICT_MEANINGS;
export const VERDICTS = Object.keys(VERDICT_MEANINGS) as readonly Verdict[];

export const ERROR_CODES = [
  'dns_not_found',
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'connect_timeout',
  'response_timeout',
  'tls_expired',
  'tls_hostname',
  'tls_untrusted',
  'tls_failed',
  'too_many_redirects',
  'redirect_loop',
  'invalid_redirect',
  'blocked_address',
  'proxy_failed',
  'malformed_response',
  'invalid_url',
  'checker_fault',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * Of texts that servers send, so many characters are kept: with all of them an event fits an append of every store, at
 * the largest number of redirects and bytes a character.
 */
export const MAX_FOUND_URL_CHARS = 8192;
export const MAX_CONTENT_TYPE_CHARS = 256;
export const MAX_PROTECTION_CHARS = 64;
/** More hops than a check follows. */
export const MAX_REDIRECTS_KEPT = 21;

const foundUrl = (description?: string) =>
  Type.String({ maxLength: MAX_FOUND_URL_CHARS, ...(description ? { description } : {}) });

/** What checking one URL found. */
export const Outcome = Type.Object({
  status_code: Nullable(Type.Integer({ description: 'Of the last response; null when none came.' })),
  final_url: Nullable(foundUrl('After redirects; null when no response came.')),
  is_broken: Type.Boolean({ description: '4xx, 5xx or unreachable.' }),
  is_soft_404: Type.Boolean({ description: 'A 2xx page that says that there is nothing here.' }),
  redirect_chain: Type.Array(foundUrl(), {
    maxItems: MAX_REDIRECTS_KEPT,
    description: 'The URLs gone to after the first one, in order.',
  }),
  response_time_ms: Nullable(
    Type.Integer({ description: "From the start of the last attempt to the last response's headers." }),
  ),
  content_type: Nullable(Type.String({ maxLength: MAX_CONTENT_TYPE_CHARS })),
  error_code: Nullable(Type.Enum(ERROR_CODES)),
  verdict: Type.Enum(VERDICTS, {
    description: `${VERDICTS.map((verdict) => `\`${verdict}\`: ${VERDICT_MEANINGS[verdict]}`).join('; ')}.`,
  }),
  protection: Nullable(
    Type.String({
      maxLength: MAX_PROTECTION_CHARS,
      description: 'The bot protection whose marks the answer bears.',
    }),
  ),
  attempts: Type.Integer({
    minimum: 1,
    description: 'How often it was tried. 1 too where what its host did to others stands for it.',
  }),
  meta_refresh: Type.Optional(foundUrl('Where the page sends its reader by a meta refresh: noted, not followed.')),
});
export type Outcome = Static<typeof Outcome>;

export const CHECKS_EVENTS = {
  URLChecked: event({
    job_id: Type.String(),
    index: Type.Integer({ minimum: 0, description: 'Of the URL in the job, in order of submission.' }),
    url: Type.String({ description: 'As submitted.' }),
    ...Outcome.properties,
  }),
};
export type URLChecked = DataOf<typeof CHECKS_EVENTS.URLChecked>;

/** The outcome with its texts cut to what is kept of them. */
export function boundedOutcome(outcome: Outcome): Outcome {
  const { final_url, redirect_chain, content_type, protection, meta_refresh } = outcome;
  const fits =
    isWithin(final_url, MAX_FOUND_URL_CHARS) &&
    isWithin(content_type, MAX_CONTENT_TYPE_CHARS) &&
    isWithin(protection, MAX_PROTECTION_CHARS) &&
    isWithin(meta_refresh, MAX_FOUND_URL_CHARS) &&
    redirect_chain.length <= MAX_REDIRECTS_KEPT &&
    redirect_chain.every((url) => isWithin(url, MAX_FOUND_URL_CHARS));
  if (fits) return outcome;
  return {
    ...outcome,
    final_url: final_url && cut(final_url, MAX_FOUND_URL_CHARS),
    redirect_chain: redirect_chain.slice(0, MAX_REDIRECTS_KEPT).map((url) => cut(url, MAX_FOUND_URL_CHARS)),
    content_type: content_type && cut(content_type, MAX_CONTENT_TYPE_CHARS),
    protection: protection && cut(protection, MAX_PROTECTION_CHARS),
    ...(meta_refresh ? { meta_refresh: cut(meta_refresh, MAX_FOUND_URL_CHARS) } : {}),
  };
}

const isWithin = (text: string | null | undefined, chars: number) => (text?.length ?? 0) <= chars;
/** Half a pair of surrogates, where the cut is, becomes U+FFFD. */
const cut = (text: string, chars: number) => text.slice(0, chars).toWellFormed();

export type ChecksEvent = EventsOf<typeof CHECKS_EVENTS>;
