// The outcomes of URLs for which there is no answer to judge.
import type { ErrorCode, Outcome } from '../../events/checks.ts';

/** The outcome of a text that is not an http(s) URL. */
export function invalidUrl(): Outcome {
  return withoutAnswer('invalid_url', true, 0);
}

/** The outcome of a URL whose answer made the checker fail, after so many attempts: it says nothing of the URL. */
export function checkerFault(attempts = 0): Outcome {
  return withoutAnswer('checker_fault', false, attempts);
}

function withoutAnswer(error_code: ErrorCode, is_broken: boolean, attempts: number): Outcome {
  return {
    status_code: null,
    final_url: null,
    is_broken,
    is_soft_404: false,
    redirect_chain: [],
    response_time_ms: null,
    content_type: null,
    error_code,
    verdict: 'unreachable',
    protection: null,
    attempts,
  };
}
