// A submission over HTTP: turns a request into the command, and the command's outcome into the answer.
import type { IntakeRefusal, ListReading } from '../../commands/jobs/intake.ts';
import type { JobRequest, Keyed } from '../../commands/jobs/submit.ts';
import type { Submitted } from '../../commands/jobs/submit-job.ts';
import type { SubmittedOnce } from '../../commands/jobs/submit-once.ts';
import type { Position } from '../../events/event-store.ts';
import type { RequestAnswered } from '../../events/idempotency.ts';
import type { JobCreated } from '../../events/job.ts';
import { type JobOptions, readSealedJson, shownOptions } from '../../events/job-options.ts';
import { limitedKeyOf } from '../callers/command-context.ts';
import { HttpError, retryLater, ValidationError } from '../frame/errors.ts';
import type { Caller, Reply, RouteRequest } from '../frame/route.ts';
import type { Parts } from '../group.ts';
import { describedView, type JobView, newJobView } from './job-view.ts';

type Wanted = Pick<JobRequest, 'source' | 'given' | 'options' | 'needs_credits' | 'described'>;
/** `key`: undefined where the request has none. `field`: where the body has the URLs. */
type Sent = Pick<Keyed, 'size_bytes'> & { key: string | undefined; field: string; fingerprint(): string };
type Asking = Pick<RouteRequest, 'route' | 'command' | 'signal' | 'rest'> & { caller: Caller };
type Deps = Pick<Parts, 'submissions'>;

export interface NewJob {
  reply: Omit<Reply, 'body'> & { body: JobView };
  position: Position;
  /** How the file was read; null for a list, and where the first answer to the key is repeated. */
  reading: ListReading | null;
}

/**
 * Submits a job, at most once for each idempotency key: a repeated request gets the first answer. Throws HttpError when the
 * service refuses it; then there is no job and no charge.
 */
export async function submit(wanted: Wanted, sent: Sent, asking: Asking, { submissions }: Deps): Promise<NewJob> {
  const request = requestOf(wanted, asking);
  const context = asking.command();
  const { given } = wanted;
  const filename = given.kind === 'file' ? given.filename : null;
  const own = ownOf(filename, wanted.described);
  const { key, size_bytes, field } = sent;
  if (key !== undefined) {
    const { method, path: route } = asking.route;
    const scope = { user_id: asking.caller.user_id, method, route, key };
    const keyed = { scope, fingerprint: sent.fingerprint(), size_bytes, answerOf };
    const once = await submissions.submitOnce(request, keyed, context);
    return onceMade(once.ok ? { ...once, own } : once, field, asking);
  }
  const made = await submissions.submit(request, context);
  if (!made.ok) throw refusal(made.refused, field);
  const answer = answerOf(made.job, context.now);
  return newJob({ ...made, answer, own, reading: made.reading ?? null }, asking);
}

/** Throws HttpError for a refusal. `field`: where the body has the URLs. */
export function onceMade(once: Once, field: string, asking: Pick<Asking, 'route'>): NewJob {
  if (!once.ok) throw refusal(once.refused, field);
  return newJob(once, asking, once.replayed ? REPLAYED : {});
}

/** What the client itself said, which the log keeps sealed and each request brings again. */
type Own = Pick<JobView, 'filename'> & Partial<Pick<JobView, 'label' | 'metadata' | 'options'>>;
type Made = Extract<SubmittedOnce, { ok: true }> & { own: Own };
export type Once = Made | Extract<SubmittedOnce, { ok: false }>;

const REPLAYED = { 'Idempotency-Replayed': 'true' };

/**
 * The request carries the signal, so that a client who leaves while intake reads the list is not charged. While it waits for the log, another
 * heavy request has its turn.
 */
const requestOf = (wanted: Wanted, { caller, signal, rest }: Asking): JobRequest => ({
  ...wanted,
  owner_id: caller.user_id,
  owner_email: caller.email,
  key: limitedKeyOf(caller),
  options: { ...wanted.options, signal },
  listRead: rest,
});

/** The answer as the log keeps it for a key, without what is the client's own. */
export const answerOf = (job: JobCreated, created_at: number) => ({
  status: 201,
  body: newJobView({ ...job, filename: null }, created_at),
});

function newJob(
  { answer, own, position, reading }: Omit<Made, 'ok' | 'replayed' | 'answer'> & { answer: Answer },
  { route }: Pick<Asking, 'route'>,
  more = {},
): NewJob {
  const { status } = answer;
  const body = { ...NOTHING_SAID, ...(answer.body as JobView), ...own };
  const location = `${route.api.prefix}/jobs/${body.job_id}`;
  return { reply: { status, body, headers: { location, ...more }, position, is_early: true }, position, reading };
}
/** Answers that earlier versions have stored lack these. */
const NOTHING_SAID = { label: null, metadata: null, options: null, test: false };

export function ownOf(filename: string | null, described: JobRequest['described'] = {}): Own {
  const options = readSealedJson(described.options) as JobOptions | undefined;
  const shown = options && { options: JSON.stringify(shownOptions(options)) };
  return { filename, ...describedView({ ...described, ...shown }) };
}
type Answer = Omit<RequestAnswered, 'job_id'>;

/** Refusals for want of credits that the user may spend. */
const LACKS: readonly string[] = ['no_credits', 'usage_limit', 'key_limit'];

type Refused = Extract<Submitted | SubmittedOnce, { ok: false }>['refused'];

/** The longest Retry-After for a key in progress: most requests end long before another may take their key over. */
const RETRY_S = 5;

function refusal(refused: Refused, field: string): HttpError {
  if ('rows' in refused) return unusable(refused, field);
  const { code, message } = refused;
  if (code !== 'idempotency_in_progress') {
    const details = 'details' in refused ? refused.details : undefined;
    return new HttpError(LACKS.includes(code) ? 402 : 409, code, message, details);
  }
  const retry_s = Math.min(Math.ceil(refused.left_ms / 1000), RETRY_S);
  return retryLater(409, code, message, retry_s);
}

const STATUSES: Readonly<Record<string, number>> = {
  file_too_large: 413,
  inflated_too_large: 413,
  zip_bomb: 413,
  too_many_urls: 413,
  not_a_table: 415,
};

/** The parameters of the query that intake finds nothing for. */
const PARAMETERS: Readonly<Record<string, string>> = {
  column_not_found: 'column',
  sheet_not_found: 'sheet',
  encoding_not_known: 'encoding',
  names_not_accepted: 'accept_names',
};

/** The error for a file or a list that intake refuses: 413, 415, or 422 with a problem for each wrong row. */
export function unusable({ code, message, rows }: IntakeRefusal, field: string): HttpError {
  const status = STATUSES[code];
  if (status !== undefined) return new HttpError(status, code, message);
  const parameter = PARAMETERS[code];
  const loc = parameter ? ['query', parameter] : ['body', field];
  const of_rows = rows.map((issue) => ({
    loc: [...loc, issue.row],
    msg: `${JSON.stringify(issue.value)} ${issue.message}`,
    type: issue.reason,
    value: issue.value,
  }));
  return new ValidationError([{ loc, msg: message, type: code }, ...of_rows], code);
}
