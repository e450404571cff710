// A result as the read model has it.
import { type ResultDocument, resultId } from '../../readmodels/results/results.ts';
import { ALICES_JOB } from '../http/sample-app.ts';

export function result(index: number, values: Partial<ResultDocument> = {}): ResultDocument {
  return {
    _id: resultId(ALICES_JOB, index),
    job_id: ALICES_JOB,
    index,
    url: `https://example.com/${index}`,
    status_code: 200,
    final_url: `https://example.com/${index}`,
    is_broken: false,
    is_soft_404: false,
    redirect_chain: [],
    response_time_ms: 12,
    content_type: 'text/html',
    error_code: null,
    verdict: 'ok',
    protection: null,
    attempts: 1,
    ...values,
  };
}
