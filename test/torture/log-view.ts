// What the log says has happened: folded from its events as they come, by rules of the torture's own.
import { type CheckedUrl, endOf, unfold, urlsOf } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { CreditsRefunded } from '../../events/credits.ts';
import { BEGINNING, type EventStore, type Position, type RecordedEvent } from '../../events/event-store.ts';
import type { JobEvent, UrlsListed } from '../../events/job.ts';
import { categoryOf, checksOf, idOf } from '../../events/streams.ts';
import type { WebhookEndpointsEvent } from '../../events/webhook.ts';

export interface LoggedJob {
  job_id: string;
  owner_id: string;
  status: 'processing' | 'paused' | 'completed' | 'cancelled' | 'failed' | 'deleted';
  /** Before it was deleted. */
  ended_as: string | null;
  reason: string | null;
  total_urls: number;
  allocated: number;
  refunded: number;
  /** URLs checked before its end. */
  completed: number;
  completed_at: Position | null;
  /** Its events are being deleted: they may be gone before they were read. */
  purged: boolean;
  /** Its results have expired: that event says how many URLs were completed. */
  is_expired: boolean;
}

interface Endpoint {
  user_id: string;
  created_at: Position;
  ended_at: Position | null;
  /** Its owner is owed a mail, and is told. */
  is_disabled: boolean;
  is_notified: boolean;
}

export interface LogView {
  jobs: ReadonlyMap<string, LoggedJob>;
  /** Of the jobs whose URLs are still listed. */
  urls: ReadonlyMap<string, readonly string[]>;
  checks: readonly CheckedUrl[];
  endpoints: ReadonlyMap<string, Endpoint>;
  position(): Position;
  /** Reads on to the end of the log. */
  follow(): Promise<void>;
}

const UNTOUCHED = { ended_at: null, is_disabled: false, is_notified: false };

const ENDS: Record<string, LoggedJob['status']> = {
  JobCompleted: 'completed',
  JobCancelled: 'cancelled',
  JobFailed: 'failed',
};

export function openLogView(log: EventStore): LogView {
  const jobs = new Map<string, LoggedJob>();
  const urls = new Map<string, string[]>();
  const checks: CheckedUrl[] = [];
  const endpoints = new Map<string, Endpoint>();
  /** Refunds may be read before the job that they are of. */
  const refunded = new Map<string, number>();
  let position = BEGINNING;
  let following: Promise<void> = Promise.resolve();

  function jobHappened(event: RecordedEvent): void {
    const { type, data } = event as unknown as JobEvent;
    const job_id = idOf(event.stream);
    if (type === 'JobCreated') {
      const { owner_id, total_urls, credits_allocated: allocated } = data;
      const begun = {
        status: 'processing',
        ended_as: null,
        reason: null,
        completed: 0,
        completed_at: null,
        purged: false,
        is_expired: false,
      } as const;
      jobs.set(job_id, { job_id, owner_id, total_urls, allocated, refunded: refunded.get(job_id) ?? 0, ...begun });
    }
    const job = jobs.get(job_id);
    if (!job) return;
    if (type === 'JobPaused') [job.status, job.reason] = ['paused', data.reason];
    else if (type === 'JobResumed') [job.status, job.allocated] = ['processing', data.credits_allocated];
    else if (type === 'JobDeleted') job.status = 'deleted';
    else if (type === 'ResultsExpired') [job.is_expired, job.completed] = [true, data.completed_urls];
    else if (type === 'ResultsPurged' || type === 'JobPurged') job.purged = !job.is_expired;
    else if (ENDS[type]) {
      job.status = ENDS[type];
      job.ended_as = job.status;
      if (type === 'JobFailed') job.reason = data.reason;
      if (type === 'JobCompleted') job.completed_at = event.position;
    }
  }

  function endpointHappened(event: RecordedEvent): void {
    const { type, data } = event as unknown as WebhookEndpointsEvent;
    if (type === 'WebhookEndpointCreated') {
      endpoints.set(data.endpoint_id, { user_id: data.user_id, created_at: event.position, ...UNTOUCHED });
    } else if (type === 'WebhookEndpointDisabled' || type === 'WebhookEndpointDeleted') {
      const endpoint = endpoints.get(data.endpoint_id);
      if (!endpoint) return;
      endpoint.ended_at ??= event.position;
      endpoint.is_disabled = type === 'WebhookEndpointDisabled';
    } else if (type === 'WebhookEndpointOwnerNotified') {
      const endpoint = endpoints.get(data.endpoint_id);
      if (endpoint) endpoint.is_notified = true;
    }
  }

  function happened(event: RecordedEvent): void {
    const category = categoryOf(event.stream);
    if (category === 'job') jobHappened(event);
    else if (category === 'webhook_endpoints') endpointHappened(event);
    else if (event.type === 'UrlsListed') {
      const { job_id, urls: some } = event.data as UrlsListed;
      urls.set(job_id, [...(urls.get(job_id) ?? []), ...some]);
    } else if (event.type === 'URLChecked') {
      const data = event.data as URLChecked;
      checks.push(...unfold(data, urls.get(data.job_id)?.slice(data.from_index, endOf(data)) ?? []));
      const job = jobs.get(checksOf(event.stream).job_id);
      if (job && (job.status === 'processing' || job.status === 'paused')) job.completed += urlsOf(data);
    } else if (event.type === 'CreditsRefunded') {
      const { reference_id, amount } = event.data as CreditsRefunded;
      refunded.set(reference_id, (refunded.get(reference_id) ?? 0) + amount);
      const job = jobs.get(reference_id);
      if (job) job.refunded += amount;
    }
  }

  async function readOn(): Promise<void> {
    for await (const event of log.readAll({ from: position })) {
      happened(event);
      position = event.position;
    }
  }

  return {
    jobs,
    urls,
    checks,
    endpoints,
    position: () => position,
    follow() {
      following = following.catch(() => {}).then(readOn);
      return following;
    },
  };
}
