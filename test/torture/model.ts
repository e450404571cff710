// Holds what a tortured shape left behind to what was promised: each sentence is one test, with what broke it.
import type { Asserting } from '../support/ledger.ts';
import { assertExact } from '../support/ledger.ts';
import type { Client } from './clients.ts';
import type { Span } from './fault.ts';
import type { LoggedJob, LogView } from './log-view.ts';
import type { Post } from './post.ts';
import type { Shape } from './shapes.ts';
import { GONE, type Target } from './target.ts';

/** From a cancel's or a pause's answer on so long may requests still come, by the fair clock. */
const STOPPED_MS = 1000;
/** From the end of a fault on: who was cut off looks again after 5 s at the latest. */
const AFTER_FAULT_MS = 5000;
/** Of a URL's requests: its own, its repetition, and one for each fault that may have lost the answer. */
const ASKED_BESIDES_FAULTS = 2;

export interface Findings {
  /** One line each. */
  broken: string[];
  /** How many things were looked at. */
  looked: number;
}

export interface Evidence {
  shape: Shape;
  target: Target;
  post: Post;
  clients: readonly Client[];
  view: LogView;
  spans: readonly Span[];
}

type Check = (evidence: Evidence, found: Findings) => void | Promise<void>;

const submissionsOf = ({ clients }: Evidence) => clients.flatMap(({ submitted }) => submitted);

/** The least and the most that may have been completed: of a job that is being deleted, checks may be gone before they were read. */
function chargedOf({ ended_as, completed, total_urls, purged }: LoggedJob): [least: number, most: number] {
  if (!purged) return [completed, completed];
  return ended_as === 'completed' ? [total_urls, total_urls] : [completed, total_urls];
}

function isSettled(job: LoggedJob): boolean {
  const [least, most] = chargedOf(job);
  const charged = job.allocated - job.refunded;
  return least <= charged && charged <= most;
}

export const CHECKS: Readonly<Record<string, Check>> = {
  'every submission that was answered is one job, with its URLs'(evidence, found) {
    const { view } = evidence;
    const by_tag = new Map<string, string[]>();
    for (const [job_id, [first]] of view.urls) {
      if (!view.jobs.has(job_id)) continue;
      const tag = evidence.target.tagOf(first!);
      by_tag.set(tag, [...(by_tag.get(tag) ?? []), job_id]);
    }
    for (const { tag, urls, key, job_ids } of submissionsOf(evidence)) {
      found.looked++;
      const made = by_tag.get(tag) ?? [];
      if (made.length > 1) found.broken.push(`${tag}, sent ${key ? 'with one key' : 'once'}, made the jobs ${made}`);
      if (job_ids.size > 1) found.broken.push(`${tag}, sent with one key, was answered with the jobs ${[...job_ids]}`);
      for (const job_id of job_ids) {
        const job = view.jobs.get(job_id);
        if (!job) found.broken.push(`${tag} was answered with job ${job_id}, which is not in the log`);
        else if (job.total_urls !== urls.length)
          found.broken.push(`job ${job_id} has ${job.total_urls} URLs of ${urls.length}`);
        const listed = view.urls.get(job_id);
        if (listed && job?.status !== 'deleted' && listed.join() !== urls.join())
          found.broken.push(`job ${job_id} lists other URLs than ${tag}`);
      }
    }
  },

  'every request with an idempotency key was answered in the end'(evidence, found) {
    for (const { tag, is_settled } of submissionsOf(evidence)) {
      found.looked++;
      if (!is_settled)
        found.broken.push(`${tag} was sent again and again, and its client does not know what became of it`);
    }
  },

  'every job has ended, or waits for credits'({ view }, found) {
    for (const { job_id, status, reason, completed, allocated } of view.jobs.values()) {
      found.looked++;
      const is_right =
        status === 'completed' ||
        status === 'cancelled' ||
        status === 'deleted' ||
        (status === 'paused' && reason === 'credit_ceiling');
      if (!is_right) found.broken.push(`job ${job_id} is ${status} (${reason}) with ${completed} of ${allocated}`);
    }
  },

  'no job has failed'({ view }, found) {
    for (const { job_id, ended_as, reason } of view.jobs.values()) {
      found.looked++;
      if (ended_as === 'failed') found.broken.push(`job ${job_id} failed: ${reason}`);
    }
  },

  'every URL that was checked was found as it is, and a completed job has all of them'({ view, target }, found) {
    for (const { job_id, index, url, verdict, error_code, status_code } of view.checks) {
      found.looked++;
      const right = target.verdictOf(url);
      if (verdict === right) continue;
      found.broken.push(
        `URL ${index} of job ${job_id} is ${right} and was found ${verdict} (${error_code ?? status_code}): ${url}`,
      );
    }
    for (const job of view.jobs.values()) {
      const [completed] = chargedOf(job);
      if (job.ended_as === 'completed' && completed !== job.total_urls)
        found.broken.push(`job ${job.job_id} is completed with ${completed} of ${job.total_urls}`);
    }
  },

  'every URL that was checked was asked for, and no more often than faults explain'({ view, target, spans }, found) {
    const most = ASKED_BESIDES_FAULTS + spans.length;
    const counted = new Map<string, number>();
    for (const { url } of view.checks) counted.set(url, (counted.get(url) ?? 0) + 1);
    for (const url of counted.keys()) {
      if (!target.leadsHere(url)) continue;
      found.looked++;
      const asked = target.asked(url);
      if (asked === 0) found.broken.push(`${url} has a result and was never asked for`);
      if (asked > most) found.broken.push(`${url} was asked for ${asked} times, with ${spans.length} faults`);
    }
  },

  'after a cancel or a pause nothing more is asked'(evidence, found) {
    const { target, spans } = evidence;
    for (const { tag, stops, job_ids } of submissionsOf(evidence)) {
      for (const { from, to, by } of stops) {
        found.looked++;
        const late = target.requests(tag).filter((at) => {
          if (at <= from + STOPPED_MS || at >= to) return false;
          return !spans.some(
            (span) => span.from < at && span.to + AFTER_FAULT_MS > at && span.to > from - AFTER_FAULT_MS,
          );
        });
        const last_ms = Math.round((late.at(-1) ?? 0) - from);
        if (late.length > 0)
          found.broken.push(`${late.length} requests of job ${[...job_ids]} up to ${last_ms} ms after its ${by}`);
      }
    }
  },

  'allocated is completed and refunded, of each job that has ended'({ view }, found) {
    for (const job of view.jobs.values()) {
      if (job.ended_as === null || job.status === 'failed') continue;
      found.looked++;
      if (isSettled(job)) continue;
      const { job_id, ended_as, allocated, completed, refunded } = job;
      found.broken.push(
        `job ${job_id}, ${ended_as}: ${allocated} allocated, ${completed} completed, ${refunded} refunded`,
      );
    }
  },

  'the owner of each endpoint that was disabled has the mail'(evidence, found) {
    found.looked += [...evidence.view.endpoints.values()].filter(({ is_disabled }) => is_disabled).length;
    found.broken.push(...unmailed(evidence));
  },

  'each webhook arrived, and none of what did not happen'({ view, target, clients }, found) {
    const names = new Map(clients.flatMap(({ endpoints }) => [...endpoints]));
    const arrived = new Set(
      target.notices
        .filter(({ status_code }) => status_code === 200)
        .map(({ endpoint, job_id }) => `${endpoint} ${job_id}`),
    );
    for (const job of view.jobs.values())
      for (const missing of missingNotices(job, view, names, arrived)) found.broken.push(missing);
    for (const { endpoint, job_id } of target.notices) {
      found.looked++;
      const job = view.jobs.get(job_id);
      if (job?.ended_as !== 'completed')
        found.broken.push(`${endpoint} heard of job ${job_id}, which is ${job?.status ?? 'not in the log'}`);
      else if (!endpoint.replace(GONE, '').startsWith(`${job.owner_id}-`))
        found.broken.push(`${endpoint} heard of a job of ${job.owner_id}`);
    }
  },
};

/** The endpoints that were disabled and whose owner had no mail; a deleted one is nobody's business. */
function unmailed({ view, post }: Evidence): string[] {
  // Lines of a mail are wrapped.
  const mails = post.taken.map((mail) => mail.replaceAll(/=\r?\n/g, ''));
  return [...view.endpoints].flatMap(([id, { user_id, is_disabled, is_notified }]) => {
    if (!is_disabled) return [];
    const is_mailed = mails.some((mail) => mail.includes(id));
    if (is_notified && is_mailed) return [];
    return [
      `endpoint ${id} of ${user_id} was disabled, and the mail about it was ${is_mailed ? 'sent, and not noted' : 'not sent'}`,
    ];
  });
}

/** Of endpoints that were there when it was completed and still are. */
function missingNotices(
  { job_id, owner_id, completed_at }: LoggedJob,
  { endpoints }: LogView,
  names: ReadonlyMap<string, string>,
  arrived: ReadonlySet<string>,
): string[] {
  if (completed_at === null) return [];
  return [...endpoints].flatMap(([id, { user_id, created_at, ended_at }]) => {
    const name = names.get(id);
    const hears = user_id === owner_id && created_at < completed_at && ended_at === null && name !== undefined;
    return hears && !arrived.has(`${name} ${job_id}`)
      ? [`endpoint ${id} of ${owner_id} never heard of job ${job_id}`]
      : [];
  });
}

/** Nothing is left to do: every job stands, is settled, and its webhooks have arrived. What is not, a line each. */
export function unsettled(evidence: Evidence): string[] {
  const { view, target, clients } = evidence;
  const names = new Map(clients.flatMap(({ endpoints }) => [...endpoints]));
  const arrived = new Set(
    target.notices
      .filter(({ status_code }) => status_code === 200)
      .map(({ endpoint, job_id }) => `${endpoint} ${job_id}`),
  );
  const open = [...view.jobs.values()].flatMap((job) => {
    const { job_id, status, ended_as, allocated, completed } = job;
    const left = missingNotices(job, view, names, arrived);
    if (status === 'processing') left.push(`job ${job_id} is processing with ${completed} of ${allocated}`);
    if (ended_as !== null && status !== 'failed' && !isSettled(job))
      left.push(`job ${job_id}, ${ended_as}, is not settled`);
    return left;
  });
  return [...open, ...unmailed(evidence)];
}

/** The ledger, the lots, one result a URL, and documents equal to a fresh replay of the log. The service is stopped. */
export async function checkStores(shape: Shape, found: Findings): Promise<void> {
  const broken = (message: string) => void found.broken.push(message.slice(0, 500));
  const asserting: Asserting = {
    true(holds, message) {
      found.looked++;
      if (!holds) broken(message ?? 'something does not hold');
    },
    is(actual, expected, message) {
      found.looked++;
      if (actual !== expected) broken(`${message ?? ''}: ${actual}, and not ${expected}`);
    },
    deepEqual(actual, expected, message) {
      found.looked++;
      const difference = differenceOf(actual as unknown[], expected as unknown[]);
      if (difference !== null) broken(`the documents ${message} differ from those of a fresh replay: ${difference}`);
    },
    fail: (message) => broken(message ?? 'failed'),
  };
  const [log, documents, empty] = [
    await shape.openLog(),
    await shape.openDocuments(),
    await shape.openEmptyDocuments(),
  ];
  try {
    await assertExact(asserting, log, documents, empty);
  } catch (error) {
    broken(`the stores cannot be held to the log: ${(error as Error).message}`);
  } finally {
    await Promise.all([log.close(), documents.close(), empty.close()]);
  }
}

/** The first document that differs. */
function differenceOf(actual: readonly unknown[], expected: readonly unknown[]): string | null {
  const shown = (documents: readonly unknown[]) => documents.map((document) => JSON.stringify(document, sortedKeys));
  const [here, there] = [shown(actual).sort(), shown(expected).sort()];
  const extra = here.find((text) => !there.includes(text));
  const missing = there.find((text) => !here.includes(text));
  if (extra === undefined && missing === undefined && here.length === there.length) return null;
  return `${here.length} here, ${there.length} replayed; only here ${extra}; only replayed ${missing}`;
}

const sortedKeys = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
