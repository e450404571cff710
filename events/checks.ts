// The streams `checks-{jobId}-{batch}`: what checking each URL of a job found. One event a URL, appended a batch at a
// time at the revision that its range implies, so that no URL of a job can be counted twice.

import { type Static, Type } from 'typebox';
import { Nullable } from './nullable.ts';

export const VERDICTS = ['ok', 'redirected', 'broken', 'soft_404', 'blocked', 'unreachable'] as const;
export type Verdict = (typeof VERDICTS)[number];

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

/** What checking one URL found. */
export const Outcome = Type.Object({
  status_code: Nullable(Type.Integer({ description: 'Of the last response; null when none came.' })),
  final_url: Nullable(Type.String({ description: 'After redirects; null when no response came.' })),
  is_broken: Type.Boolean({ description: '4xx, 5xx or unreachable.' }),
  is_soft_404: Type.Boolean({ description: 'A 2xx page that says that there is nothing here.' }),
  redirect_chain: Type.Array(Type.String(), { description: 'The URLs gone to after the first one, in order.' }),
  response_time_ms: Nullable(
    Type.Integer({ description: "From the start of the last attempt to the last response's headers." }),
  ),
  content_type: Nullable(Type.String()),
  error_code: Nullable(Type.Enum(ERROR_CODES)),
  verdict: Type.Enum(VERDICTS),
  protection: Nullable(Type.String({ description: 'The bot protection whose marks the answer bears.' })),
  attempts: Type.Integer({
    minimum: 1,
    description: 'How often it was tried. 1 too where what its host did to others stands for it.',
  }),
  meta_refresh: Type.Optional(
    Type.String({ description: 'Where the page sends its reader by a meta refresh: noted, not followed.' }),
  ),
});
export type Outcome = Static<typeof Outcome>;

export const URLChecked = Type.Object({
  job_id: Type.String(),
  index: Type.Integer({ minimum: 0, description: 'Of the URL in the job, in order of submission.' }),
  url: Type.String({ description: 'As submitted.' }),
  ...Outcome.properties,
});
export type URLChecked = Static<typeof URLChecked>;

export type ChecksEvent = { type: 'URLChecked'; data: URLChecked };
