// How jobs share the embedded service: a job of 10 URLs beside one of 200,000 against its time alone, and how long after
// a cancellation the last request is sent, in a small and in a large job.
// node bench/jobs.ts [--urls 200000] [--hosts 200]
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { TestClient } from '../test/support/service.ts';
import { median, urlsOver } from './loopback-urls.ts';
import { startBenchService } from './service.ts';

export interface JobsBench {
  /** URLs of the large job. */
  urls: number;
  /** From the request to the end of a job of 10 URLs, in milliseconds: medians, and the longest beside the large job. */
  small_job_ms: { alone: number; beside: number; beside_longest: number };
  /** URLs of a job and milliseconds from its cancellation's request to the last request of its URLs. */
  cancelled: { urls: number; last_request_ms: number }[];
}

const SMALL = 10;
const SMALL_JOBS = 15;
/** The benchmark cancels a job after this many answered requests. */
const UNDER_WAY = 500;
const SLOW_MS = 20;
/** After this long without a request the benchmark assumes that none follows. */
const QUIET_MS = 3000;

export async function benchJobs({ urls = 200_000, hosts = 200 } = {}): Promise<JobsBench> {
  const service = await startBenchService();
  const { website, clientOf } = service;
  try {
    const [large, small] = [await clientOf('large'), await clientOf('small')];
    const listOf = (count: number) => urlsOver(hosts, count, website.port, `/${randomUUID()}/`);

    await smallJobs(small, listOf); // code that has run before
    const alone = await smallJobs(small, listOf);
    const job_id = await submitted(large, listOf(urls));
    const beside = await smallJobs(small, listOf);
    const { status } = (await large.ask('GET', `/jobs/${job_id}`)).body;
    if (status !== 'processing')
      throw new Error(`the large job is ${status}, but must run during the whole measurement`);
    await large.ask('POST', `/jobs/${job_id}/cancel`);

    const cancelled: JobsBench['cancelled'] = [];
    for (const count of [urls / 100, urls]) {
      cancelled.push({ urls: count, last_request_ms: await lastRequestAfterCancel(large, count) });
    }
    const small_job_ms = {
      alone: median(alone),
      beside: median(beside),
      beside_longest: Math.max(...beside),
    };
    return { urls, small_job_ms, cancelled };
  } finally {
    await service.stop();
  }
}

async function submitted(client: TestClient, urls: readonly string[]): Promise<string> {
  const { status, body } = await client.upload(urls.join('\n'));
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.job_id;
}

async function smallJobs(client: TestClient, listOf: (count: number) => string[]): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < SMALL_JOBS; n++) {
    const began = performance.now();
    const job = await client.ended(await submitted(client, listOf(SMALL)));
    if (job.status !== 'completed') throw new Error(JSON.stringify(job));
    times.push(performance.now() - began);
  }
  return times;
}

/** A slow website in this process, which records the time of its last request. */
async function lastRequestAfterCancel(client: TestClient, count: number): Promise<number> {
  let requests = 0;
  let last_at = 0;
  const website = createServer((_, response) => {
    requests++;
    last_at = performance.now();
    setTimeout(() => response.end('fine'), SLOW_MS);
  });
  await new Promise<void>((resolve) => website.listen(0, '0.0.0.0', resolve));
  const { port } = website.address() as AddressInfo;
  try {
    const job_id = await submitted(client, urlsOver(200, count, port));
    while (requests < UNDER_WAY) await new Promise((resolve) => setTimeout(resolve, 1));
    const asked_at = performance.now();
    const { status, body } = await client.ask('POST', `/jobs/${job_id}/cancel`);
    if (status !== 200 || body.status !== 'cancelled') throw new Error(`${status} ${JSON.stringify(body)}`);
    while (performance.now() - last_at < QUIET_MS) await new Promise((resolve) => setTimeout(resolve, 100));
    return Math.max(0, last_at - asked_at);
  } finally {
    website.closeAllConnections();
    await new Promise((resolve) => website.close(resolve));
  }
}

export function jobsTable({ urls, small_job_ms: { alone, beside, beside_longest }, cancelled }: JobsBench): string {
  const ms = (value: number) => `${value.toFixed(0)} ms`;
  return [
    `A job of ${SMALL} URLs: ${ms(alone)} alone, ${ms(beside)} beside one of ${urls}, ${ms(beside_longest)} at the most`,
    ...cancelled.map((of) => `A job of ${of.urls} URLs, cancelled: the last request after ${ms(of.last_request_ms)}`),
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { urls: { type: 'string' }, hosts: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(jobsTable(await benchJobs(numbers)));
}
