// A user whose small jobs show whether the service works: while one is accepted and done, and /readyz is 200, all is as it should be.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTestClient } from '../support/service.ts';
import { holds } from './alerts.ts';
import { fairNow } from './fair-clock.ts';
import type { Told } from './fault.ts';
import type { Random } from './random.ts';
import type { Shape } from './shapes.ts';
import type { Target } from './target.ts';

const LOOK_MS = 100;
const REQUEST_MS = 4000;
const URLS = 3;
/** A lapse of /readyz, and what a look of the driver and one of Prometheus may come late. */
const TOLD_MS = 7000;

export interface Canary {
  /** Sends a job until it is accepted; resolves to its id. */
  submit(signal?: AbortSignal): Promise<string | null>;
  done(job: Promise<string | null>, within_ms: number): Promise<boolean>;
  /** Whether a new job is accepted and done, and /readyz is 200, before so much of the fair clock has passed. */
  sings(within_ms: number): Promise<boolean>;
  /** Resolves to the time from `began` until /readyz and the alert say so; rejects when that is late, or when `over` comes first. */
  told(told: Told, began: number, over: AbortSignal): Promise<number | null>;
  /** The last answer that was not as it should be. */
  why(): string;
  /** All its jobs are done. */
  finish(within_ms: number): Promise<boolean>;
}

export function openCanary(shape: Shape, target: Target, token: string, random: Random): Canary {
  const client = openTestClient(shape.url, token, '', () => {});
  const jobs: Promise<string | null>[] = [];
  let number = 0;
  let wrong = 'nothing';

  /** Null where no answer came, or another than that. */
  async function asked(path: string, right: number, init: RequestInit = {}) {
    const answer = await client
      .send(path, { ...init, signal: AbortSignal.timeout(REQUEST_MS) })
      .catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.status === right) return answer;
    wrong = `${init.method ?? 'GET'} ${path} ${answer instanceof Error ? answer.message : `${answer.status} ${JSON.stringify(answer.body).slice(0, 400)}`}`;
    return null;
  }

  async function until(within_ms: number, holds: () => Promise<boolean>): Promise<boolean> {
    for (const end = fairNow() + within_ms; fairNow() < end; await sleep(LOOK_MS)) if (await holds()) return true;
    return false;
  }

  function submit(signal?: AbortSignal): Promise<string | null> {
    const urls = target.urls(`canary-${number++}`, URLS, random).join('\n');
    const key = randomUUID();
    const body = () => {
      const form = new FormData();
      form.append('file', new Blob([urls]), 'urls.csv');
      return form;
    };
    const sending = async () => {
      while (!signal?.aborted) {
        const answer = await asked('/jobs', 201, { method: 'POST', body: body(), headers: { 'idempotency-key': key } });
        if (answer) return answer.body.job_id as string;
        await sleep(LOOK_MS);
      }
      return null;
    };
    const job = sending();
    jobs.push(job);
    return job;
  }

  async function done(job: Promise<string | null>, within_ms: number): Promise<boolean> {
    const end = fairNow() + within_ms;
    const job_id = await Promise.race([job, until(within_ms, async () => false).then(() => null)]);
    if (job_id === null) return false;
    return until(end - fairNow(), async () => (await asked(`/jobs/${job_id}`, 200))?.body.status === 'completed');
  }

  return {
    submit,
    done,
    why: () => wrong,
    async sings(within_ms) {
      const end = fairNow() + within_ms;
      const given_up = new AbortController();
      const is_done = await done(submit(given_up.signal), within_ms);
      given_up.abort();
      return is_done && until(end - fairNow(), async () => (await asked('/readyz', 200)) !== null);
    },
    async told({ check, alert }, began, over) {
      let is_shown = check === undefined;
      while (!over.aborted) {
        if (!is_shown) {
          const answer = await fetch(`${shape.probe_url}/readyz`).then(
            (each) => each.json() as Promise<{ failed?: string[] }>,
            () => null,
          );
          is_shown = answer?.failed?.includes(check!) ?? false;
        }
        if (is_shown) {
          const metrics = await fetch(`${shape.probe_url}/metrics`).then(
            (each) => each.text(),
            () => '',
          );
          if (holds(alert, metrics)) {
            const told_ms = fairNow() - began;
            if (told_ms > TOLD_MS) throw new Error(`${check ?? alert} was told after ${Math.round(told_ms)} ms`);
            return told_ms;
          }
        }
        await sleep(LOOK_MS);
      }
      throw new Error(is_shown ? `the alert ${alert} does not hold` : `/readyz does not name ${check}`);
    },
    async finish(within_ms) {
      for (const job of jobs) if ((await job) !== null && !(await done(job, within_ms))) return false;
      return true;
    },
  };
}
