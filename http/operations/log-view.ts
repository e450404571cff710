// The views of the worker log. An entry's URL is that of its result; a result that did not count has its URL in the job's listing.
import { ERROR_CODES } from '../../events/checks.ts';
import { Nullable, type Static, Type } from '../../events/schema.ts';
import type { UrlListing } from '../../events/url-listing.ts';
import type { LogEntry } from '../../readmodels/operations/log-segments.ts';
import type { LogHour } from '../../readmodels/operations/worker-log.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';
import { resultId, type StoredResult } from '../../readmodels/results/results.ts';
import { breather } from '../../time/event-loop.ts';
import { Count, Time } from '../frame/schemas.ts';

export const LogEntryView = Type.Object(
  {
    log_id: Type.String({ description: 'Names the entry; the same when the log is rebuilt.' }),
    time: Time('When the checker recorded the outcome.'),
    job_id: Type.String(),
    url: Nullable(Type.String({ description: 'As it was submitted; null when its job is being deleted.' })),
    domain: Nullable(Type.String({ description: 'The host of the URL; null for a text without a URL.' })),
    attempt: Type.Integer({ minimum: 1, description: 'The number of the attempt at this URL, from 1.' }),
    status_code: Nullable(Type.Integer({ description: 'Of the last answer of the attempt; null when none came.' })),
    error_code: Nullable(Type.Enum(ERROR_CODES)),
    duration_ms: Nullable(
      Type.Integer({
        description: "From the start of the attempt to its last answer's headers; null without an answer.",
      }),
    ),
    worker: Nullable(
      Type.String({ description: 'The checker, by a name that it draws at each start; null before it was recorded.' }),
    ),
    proxy_id: Nullable(Type.String({ description: 'The proxy of the last request; null without one.' })),
  },
  { $id: 'LogEntry' },
);
export type LogEntryView = Static<typeof LogEntryView>;

export const logEntryExample: LogEntryView = {
  log_id: '3f2a8c1e-6b7d-4f15-9a53-0c8f7b1f3e10.17.1',
  time: '2026-01-31T09:00:00.000Z',
  job_id: '3f2a8c1e-6b7d-4f15-9a53-0c8f7b1f3e10',
  url: 'https://www.example.com/old',
  domain: 'www.example.com',
  attempt: 1,
  status_code: 503,
  error_code: null,
  duration_ms: 87,
  worker: '9d41c2aa',
  proxy_id: null,
};

type Named = Pick<LogEntry, 'job_id' | 'index' | 'attempt'>;

const logId = ({ job_id, index, attempt }: Named) => `${job_id}.${index}.${attempt}`;

export function parseLogId(log_id: string): Named | null {
  const [, job_id, index, attempt] = /^([\w-]{1,64})\.(\d{1,9})\.([1-9]\d?)$/.exec(log_id) ?? [];
  return job_id === undefined ? null : { job_id, index: Number(index), attempt: Number(attempt) };
}

export async function logEntryViews(
  entries: readonly LogEntry[],
  results: Pick<LiveCollection<StoredResult>, 'getMany'>,
  listing: UrlListing,
): Promise<LogEntryView[]> {
  const ids = entries.map(({ job_id, index }) => resultId(job_id, index));
  const urls = new Map((await results.getMany([...new Set(ids)])).map(({ _id, url }) => [_id, url]));
  const views: LogEntryView[] = [];
  const breathe = breather();
  for (const [n, entry] of entries.entries()) {
    const { at_ms, job_id, index, worker, proxy_id, ...rest } = entry;
    const url = urls.get(ids[n]!) ?? (await listing.range(job_id, index, index + 1))[0] ?? null;
    views.push({
      ...{ log_id: logId(entry), time: new Date(at_ms).toISOString(), job_id, url, worker, proxy_id },
      ...(rest as Omit<LogEntryView, 'log_id' | 'time' | 'job_id' | 'url' | 'worker' | 'proxy_id'>),
    });
    // A listing is read in pieces of 1,000 URLs.
    await breathe();
  }
  return views;
}

export const LogHourView = Type.Object(
  {
    hour: Time('The beginning of the hour.'),
    entries: Count('Attempts.'),
    non_2xx: Count('Of these: without a 2xx, those without an answer included.'),
    errors: Count('Of these: ended with an error code.'),
    duration_avg_ms: Nullable(
      Type.Integer({ description: 'The mean over the attempts with an answer; null without any.' }),
    ),
  },
  { $id: 'LogHour' },
);
export const logHourExample = {
  ...{ hour: '2026-01-31T09:00:00.000Z', entries: 120, non_2xx: 4, errors: 2, duration_avg_ms: 132 },
};

export const logHourView = ({ hour_ms, entries, non_2xx, errors, answers, duration_total_ms }: LogHour) => ({
  ...{ hour: new Date(hour_ms).toISOString(), entries, non_2xx, errors },
  duration_avg_ms: answers === 0 ? null : Math.round(duration_total_ms / answers),
});
