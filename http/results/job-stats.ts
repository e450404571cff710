// The routes about a job as a whole: its statistics, the values that filter its results, and its URLs.
import { Readable } from 'node:stream';
import { ERROR_CODES, VERDICTS } from '../../events/checks.ts';
import { MAX_DOMAINS_SUMMARIZED, type UrlsListed } from '../../events/job.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { urlsStream } from '../../events/streams.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { STATUS_GROUPS } from '../../readmodels/results/results.ts';
import {
  histogram,
  jobDomains,
  jobResponseTimes,
  jobStats,
  NO_STATUS,
  namedCounts,
  noStats,
  PERCENTS,
  percentiles,
  type StatsDocument,
  statusGroups,
  topDomains,
} from '../../readmodels/results/stats.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { NO_SUCH_JOB } from '../frame/errors.ts';
import { type Reply, routeOf } from '../frame/route.ts';
import { Count, CountsOf } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { removedMeanwhile } from './whole-results.ts';

const wire = ({ read, log, kept }: Parts) => ({
  kept,
  read: read({ jobStats, jobResponseTimes, jobDomains }),
  /** Yields the URLs of a job in order of submission, a few hundred at a time. */
  async *urls(job_id: string): AsyncGenerator<readonly string[]> {
    for await (const { data } of log.readStream(urlsStream(job_id))) yield (data as UrlsListed).urls;
  },
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'jobs');
const errors = { 404: NO_SUCH_JOB };
const DOMAINS_IN_STATS = 100;
const DOMAINS_IN_OPTIONS = MAX_DOMAINS_SUMMARIZED;

const Milliseconds = Nullable(Type.Integer({ minimum: 0 }));

const DomainCount = Type.Object(
  {
    domain: Type.String({
      description: 'The host of the URLs, in lower case, without the port; international names are punycode.',
    }),
    count: Count('Checked URLs of this domain.'),
    broken: Count('Broken URLs of this domain.'),
  },
  { $id: 'DomainCount' },
);
const domainExample = { domain: 'example.com', count: 640, broken: 12 };

export const stats = route({
  id: 'getJobStats',
  method: 'GET',
  path: '/jobs/{job_id}/stats',
  access: 'none',
  job: 'job_id',
  made_of: 'job',
  summary: 'Show the statistics of a job',
  description:
    'The statistics are exact at any time, over all checked URLs. Percentiles are by nearest rank: the 90th percentile is the least ' +
    'measured time that at least 90 % of the times do not exceed.',
  responses: {
    200: {
      description: 'The statistics.',
      schema: Type.Object({
        job_id: Type.String(),
        total_urls: Count('URLs in the job.'),
        completed_urls: Count('URLs checked so far, which the statistics cover.'),
        status_codes: Type.Record(Type.String({ pattern: '^([1-9][0-9]{2}|none)$' }), Type.Integer({ minimum: 1 }), {
          description: 'URLs by status code; `none` counts URLs without an answer.',
        }),
        status_groups: CountsOf(STATUS_GROUPS, 'URLs by the groups of the filter `status_group`.'),
        verdicts: CountsOf(VERDICTS, 'URLs by verdict.'),
        error_codes: CountsOf(ERROR_CODES, 'URLs with an error code, by code.'),
        redirected_urls: Count('URLs that answered with a redirect, whatever came after it.'),
        soft_404_urls: Count('URLs that answered 2xx with a page that says that it does not exist.'),
        response_times_ms: Type.Object(
          {
            measured: Count('URLs that answered.'),
            min: Milliseconds,
            max: Milliseconds,
            mean: Nullable(Type.Number({ minimum: 0, description: 'Rounded to a tenth.' })),
            ...Object.fromEntries(PERCENTS.map((percent) => [`p${percent}`, Milliseconds])),
            histogram: Type.Array(Type.Object({ below_ms: Type.Integer({ minimum: 1 }), count: Count('URLs.') }), {
              description:
                'URLs by time, in ascending order without gaps: each entry counts from the one before it to `below_ms`.',
            }),
          },
          { description: 'The times of the URLs that answered; null when none did.' },
        ),
        domains: Type.Array(DomainCount, {
          maxItems: DOMAINS_IN_STATS,
          description: `The ${DOMAINS_IN_STATS} domains with the most URLs, in this order.`,
        }),
        domains_total: Count('The number of domains in the job.'),
      }),
      example: {
        job_id: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11',
        total_urls: 1000,
        completed_urls: 660,
        status_codes: { 200: 640, 404: 12, none: 8 },
        status_groups: { '2xx': 640, '3xx': 0, '4xx': 12, '5xx': 0, broken: 20, unreachable: 8 },
        verdicts: namedCounts(VERDICTS, { ok: 600, redirected: 37, broken: 12, soft_404: 3, unreachable: 8 }),
        error_codes: namedCounts(ERROR_CODES, { dns_not_found: 8 }),
        redirected_urls: 41,
        soft_404_urls: 3,
        response_times_ms: {
          measured: 652,
          min: 9,
          max: 4120,
          mean: 212.4,
          p50: 95,
          p90: 480,
          p95: 760,
          p99: 2311,
          histogram: [{ below_ms: 16, count: 652 }],
        },
        domains: [domainExample, { domain: 'example.org', count: 20, broken: 8 }],
        domains_total: 2,
      },
    },
  },
  errors,
  handler: ({ job }, { kept, read }) => kept.of(job, 'stats', () => statsOf(job, read)),
});

async function statsOf(job: JobDocument, read: Deps['read']): Promise<Reply> {
  const counted = await countedOf(job, read);
  const { count, sum_ms, min_ms, max_ms } = counted.response_times;
  const [percentile_ms, buckets, domains] = await Promise.all([
    percentiles(read.jobResponseTimes, counted, PERCENTS),
    histogram(read.jobResponseTimes, counted),
    topDomains(read.jobDomains, counted, DOMAINS_IN_STATS),
  ]);
  return {
    body: {
      job_id: job._id,
      total_urls: job.total_urls,
      completed_urls: counted.checked_urls,
      status_codes: counted.status_codes,
      status_groups: statusGroups(counted),
      verdicts: namedCounts(VERDICTS, counted.verdicts),
      error_codes: namedCounts(ERROR_CODES, counted.error_codes),
      redirected_urls: counted.redirected_urls,
      soft_404_urls: counted.soft_404_urls,
      response_times_ms: {
        measured: count,
        min: min_ms,
        max: max_ms,
        mean: count === 0 ? null : Math.round((sum_ms / count) * 10) / 10,
        ...Object.fromEntries(PERCENTS.map((percent, n) => [`p${percent}`, percentile_ms[n]])),
        histogram: buckets,
      },
      domains,
      domains_total: counted.domains_total,
    },
  };
}

export const filterOptions = route({
  id: 'getJobFilterOptions',
  method: 'GET',
  path: '/jobs/{job_id}/filter-options',
  access: 'none',
  job: 'job_id',
  made_of: 'job',
  summary: 'List the status codes and domains that filter the results of a job',
  responses: {
    200: {
      description: 'The values that occur, with their counts.',
      schema: Type.Object({
        status_codes: Type.Array(
          Type.Object({
            status_code: Nullable(Type.Integer({ description: 'Null for URLs without an answer.' })),
            count: Type.Integer({ minimum: 1 }),
          }),
          { description: 'In ascending order, null last.' },
        ),
        status_groups: Type.Array(
          Type.Object({ status_group: Type.Enum(STATUS_GROUPS), count: Type.Integer({ minimum: 1 }) }),
          { description: 'The groups that are not empty.' },
        ),
        domains: Type.Array(DomainCount, {
          maxItems: DOMAINS_IN_OPTIONS,
          description: `The ${DOMAINS_IN_OPTIONS} domains with the most URLs, in this order.`,
        }),
        domains_total: Count('The number of domains in the job.'),
      }),
      example: {
        status_codes: [
          { status_code: 200, count: 640 },
          { status_code: 404, count: 12 },
          { status_code: null, count: 8 },
        ],
        status_groups: [
          { status_group: '2xx', count: 640 },
          { status_group: '4xx', count: 12 },
          { status_group: 'broken', count: 20 },
          { status_group: 'unreachable', count: 8 },
        ],
        domains: [domainExample, { domain: 'example.org', count: 20, broken: 8 }],
        domains_total: 2,
      },
    },
  },
  errors,
  handler: ({ job }, { kept, read }) => kept.of(job, 'filter-options', () => optionsOf(job, read)),
});

async function optionsOf(job: JobDocument, read: Deps['read']): Promise<Reply> {
  const counted = await countedOf(job, read);
  const groups = statusGroups(counted);
  return {
    body: {
      // JavaScript lists integer keys first, in ascending order.
      status_codes: Object.entries(counted.status_codes).map(([code, count]) => ({
        status_code: code === NO_STATUS ? null : Number(code),
        count,
      })),
      status_groups: STATUS_GROUPS.flatMap((status_group) => {
        const count = groups[status_group];
        return count > 0 ? [{ status_group, count }] : [];
      }),
      domains: await topDomains(read.jobDomains, counted, DOMAINS_IN_OPTIONS),
      domains_total: counted.domains_total,
    },
  };
}

export const urlList = route({
  id: 'getJobUrlList',
  method: 'GET',
  path: '/jobs/{job_id}/url-list',
  access: 'none',
  job: 'job_id',
  heavy: true,
  of_results: true,
  summary: 'List the URLs of a job as text, one a line',
  description: 'The URLs are in order of submission, with those not yet checked. The last line has no line break.',
  responses: {
    200: {
      description: 'The URLs.',
      schema: Type.String(),
      content_type: 'text/plain; charset=utf-8',
      example: 'https://example.com/\nhttps://example.com/about',
    },
  },
  errors,
  handler: ({ job }, { urls }) => ({
    stream: Readable.from(lines(urls(job._id), job.total_urls), { objectMode: false }),
  }),
});

/** Throws when fewer than `total` URLs come, because the listing was removed meanwhile: the cut connection tells the client. */
async function* lines(chunks: AsyncIterable<readonly string[]>, total: number): AsyncGenerator<string> {
  let count = 0;
  for await (const urls of chunks) {
    yield (count === 0 ? '' : '\n') + urls.join('\n');
    count += urls.length;
  }
  if (count < total) throw removedMeanwhile();
}

/** The counts of the job so far. */
async function countedOf({ _id }: JobDocument, { jobStats: counts }: Deps['read']): Promise<StatsDocument> {
  return (await counts.get(_id)) ?? noStats(_id);
}

export const group = groupOf(wire, [stats, filterOptions, urlList]);
