// What the commands ask of the service, over HTTP like any other client.
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { blob } from 'node:stream/consumers';

export interface JobView {
  job_id: string;
  status: 'processing' | 'paused' | 'completed' | 'cancelled' | 'failed';
  total_urls: number;
  completed_urls: number;
  credits_allocated: number;
  credits_refunded: number;
  duplicates_removed: number;
  invalid_urls_rejected: number;
  blocked_urls_skipped: number;
  pause_reason: string | null;
  failure_reason: string | null;
}

export interface ResultView {
  url: string;
  status_code: number | null;
  final_url: string | null;
  is_broken: boolean;
  is_soft_404: boolean;
  redirect_chain: string[];
  response_time_ms: number | null;
  content_type: string | null;
  error_code: string | null;
  verdict: string;
}

/** The service refused: its status and what it said. */
export class Refused extends Error {
  readonly code = 'refused';
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

export interface Client {
  upload(path: string): Promise<JobView>;
  job(job_id: string): Promise<JobView>;
  /** All results in order of submission, page by page. */
  results(job_id: string): AsyncIterable<ResultView>;
  balance(): Promise<number>;
}

const PAGE = 1000;

export function openClient(base_url: string, token: string): Client {
  async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(base_url + path, { ...init, headers: { authorization: `Bearer ${token}` } });
    const answer = (await response.json()) as Answer & { detail?: unknown };
    if (response.ok) return answer;
    const { detail } = answer;
    throw new Refused(response.status, typeof detail === 'string' ? detail : JSON.stringify(detail));
  }
  return {
    async upload(path) {
      const form = new FormData();
      form.append('file', await blob(createReadStream(path)), basename(path));
      return ask('/jobs', { method: 'POST', body: form });
    },
    job: (job_id) => ask(`/jobs/${job_id}`),
    async *results(job_id) {
      for (let offset = 0; ; offset += PAGE) {
        const { items } = await ask<{ items: ResultView[] }>(`/jobs/${job_id}/results?limit=${PAGE}&offset=${offset}`);
        yield* items;
        if (items.length < PAGE) return;
      }
    },
    balance: async () => (await ask<{ credit_balance: number }>('/users/me/credits')).credit_balance,
  };
}
