// The commands' HTTP client of the service.
import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { blob } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { Agent, FormData, fetch, type RequestInit, type Response } from 'undici';
import type { ListReading } from '../commands/jobs/intake.ts';
import type { Static } from '../events/schema.ts';
import type { JobView as JobOfGateway } from '../http/jobs/job-view.ts';

/** As the gateway describes it. */
export type JobView = Static<typeof JobOfGateway>;

/** A service that has just begun may be short of a store for a moment. */
const AWAY = 503;
const RETRY_MS = 500;
const MOST_TRIES = 20;

/** The service refused a request; the message is the answer's `detail`. */
class Refused extends Error {
  readonly code = 'refused';
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

export interface Client {
  upload(path: string): Promise<JobView & { list: ListReading }>;
  job(job_id: string): Promise<JobView>;
  /** Writes all results, in order of submission, to a CSV file. */
  saveResults(job_id: string, path: string): Promise<void>;
  balance(): Promise<number>;
}

/** A `detail` is a sentence, or a list of problems of which the first tells what is wrong. */
function sentenceOf(detail: unknown): string {
  if (typeof detail === 'string') return detail;
  const [problem] = Array.isArray(detail) ? (detail as { msg?: unknown }[]) : [];
  return typeof problem?.msg === 'string' ? problem.msg : JSON.stringify(detail);
}

export function openClient(base_url: string, token: string): Client {
  // The service is on this machine: no proxy of the environment leads to it, as it would with NODE_USE_ENV_PROXY.
  const dispatcher = new Agent();
  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    for (let tries = 1; ; tries++) {
      const response = await fetch(base_url + path, { ...init, headers, dispatcher });
      if (response.ok) return response;
      const { detail } = (await response.json()) as { detail?: unknown };
      if (response.status !== AWAY || tries === MOST_TRIES) throw new Refused(response.status, sentenceOf(detail));
      await setTimeout(RETRY_MS);
    }
  }
  const ask = async <Answer>(path: string, init?: RequestInit) => (await (await send(path, init)).json()) as Answer;
  return {
    async upload(path) {
      const form = new FormData();
      form.append('file', await blob(createReadStream(path)), basename(path));
      return ask('/jobs', { method: 'POST', body: form, headers: { 'idempotency-key': randomUUID() } });
    },
    job: (job_id) => ask(`/jobs/${job_id}`),
    async saveResults(job_id, path) {
      const { body } = await send(`/jobs/${job_id}/export`);
      await pipeline(body!, createWriteStream(path));
    },
    balance: async () => (await ask<{ credit_balance: number }>('/users/me/credits')).credit_balance,
  };
}
