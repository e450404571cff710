// Ranges of checked URLs for the worker log, with the outcomes and failures of a usual job.
import { foldRange } from '../events/checked-range.ts';
import type { Outcome } from '../events/checks.ts';
import type { LogEvent } from '../events/vocabulary.ts';

const STATUSES = [200, 200, 200, 200, 200, 301, 404, 503, null, null];

/** The event of a range whose first URL is the `n`th of all. */
export function checkedEvent(
  n: number,
  range: { job_id: string; from_index: number; urls: readonly string[]; at_ms: number },
): LogEvent {
  const { job_id, from_index, urls, at_ms } = range;
  const outcomes = urls.map((_, k) => outcomeOf(n + k));
  const data = foldRange(job_id, from_index, urls, outcomes);
  const metadata = { actor: 'checker:9d41c2aa', at: new Date(at_ms).toISOString() };
  return { id: String(n), type: 'URLChecked', stream: `checks-${job_id}-${n}`, data, metadata } as unknown as LogEvent;
}

function outcomeOf(n: number): Outcome {
  const status_code = STATUSES[(n * 31) % STATUSES.length]!;
  return {
    ...{ status_code, final_url: null, is_broken: false, is_soft_404: false, redirect_chain: [], content_type: null },
    ...{ response_time_ms: status_code === null ? null : n % 900, verdict: 'ok', protection: null, attempts: 1 },
    error_code: status_code === null ? (n % 3 === 0 ? 'dns_not_found' : 'connect_timeout') : null,
  };
}
