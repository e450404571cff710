// The tools of the interface for agents. A tool asks operations of the APIs, takes its schemas from theirs, and adds a short text.
import { type Static, type TObject, type TProperties, type TSchema, Type } from '../../events/schema.ts';
import { HttpError } from '../frame/errors.ts';
import { KEY, submissionKey } from '../frame/idempotency-key.ts';
import { closedInput } from '../frame/input/input-schemas.ts';
import type { JobView } from '../jobs/job-view.ts';
import { ResultView } from '../results/result-view.ts';
import { type Asked, OPERATIONS, type Operation, ofJob, outputOf } from './operations.ts';
import { checkedText, countsOf, creditsText, explanationOf, jobText, type Verdicts } from './texts.ts';

/** What a tool is given. */
export interface Asking {
  /** Answers with the JSON of the operation, as the caller of the tool. Throws HttpError. */
  // biome-ignore lint/suspicious/noExplicitAny: the operation's schema says what it is
  ask(operation: Operation, asked: Asked): Promise<any>;
  /** Whether the caller takes a task for an answer that comes later. */
  takes_tasks: boolean;
  /** Where credits can be bought; null where none are sold. */
  buy_url: string | null;
}

export interface ToolResult {
  structured: object;
  text: string;
  /** The tool's answer will be that of this job. */
  unfinished?: JobView;
  /** This job waits for credits. */
  lacks_credits?: JobView;
}

export interface Tool {
  title: string;
  description: string;
  input: TObject;
  output: TObject;
  is_read: boolean;
  /** Whether a repeated call changes nothing more. */
  is_idempotent: boolean;
  call(args: never, asking: Asking): Promise<ToolResult>;
}

const tool = <Properties extends TProperties>({
  input,
  ...spec
}: Omit<Tool, 'input' | 'call'> & {
  input: Properties;
  call(args: Static<TObject<Properties>>, asking: Asking): Promise<ToolResult>;
}): Tool => ({ ...spec, input: closedInput(Type.Object(input)) as TObject });

const job_id = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'The id of the job, as another tool gave it.',
});
const idempotency_key = Type.Optional(submissionKey('the same URLs').properties[KEY]);
const { schema: list } = OPERATIONS.start.body as { schema: TSchema };
const urls = Type.Array(Type.String(), {
  ...(list as TObject).properties.urls,
  description: 'Absolute http and https URLs. Each costs one credit; duplicates are left out.',
});

const withKey = (key: string | undefined): Asked => (key === undefined ? {} : { headers: { [KEY]: key } });

/** Clients end a call after 60 s. This is the time of the checks alone. */
const MAX_WAIT_S = 45;
/** A caller who takes tasks waits only for short lists. */
const TASK_WAIT_S = 5;
/** A model reads all results that it is given. */
const MOST_SHOWN = 100;

const check_urls = tool({
  title: 'Check URLs',
  description:
    'Checks URLs and answers with the verdict of each: ok, redirected, broken, soft_404 ("200 OK" with a page that says "not found"), blocked ' +
    `by bot protection, or unreachable. Waits for at most ${MAX_WAIT_S} s; a longer check goes on as a job: follow it with get_job, then read get_results.`,
  input: {
    urls,
    wait_seconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_WAIT_S, description: 'The longest wait for the results.' }),
    ),
    idempotency_key,
  },
  output: outputOf(OPERATIONS.check, ['next_cursor'], {
    verdicts: Type.Record(Type.String(), Type.Integer(), { description: 'How many results have each verdict.' }),
    results: Type.Array(ResultView, {
      description: `All results; where there are more than ${MOST_SHOWN}, the first that are neither ok nor redirected.`,
    }),
  }),
  is_read: false,
  is_idempotent: false,
  async call({ urls, wait_seconds, idempotency_key }, asking) {
    const wait = wait_seconds ?? (asking.takes_tasks ? TASK_WAIT_S : MAX_WAIT_S);
    const asked = { ...withKey(idempotency_key), query: { wait_seconds: wait }, body: { urls } };
    const { next_cursor: _, results, ...job } = await asking.ask(OPERATIONS.check, asked);
    return await checked(job, results, asking);
  },
});

/** The result of `check_urls` for a job whose results are known as far as `known` says. */
async function checked(job: JobView, known: readonly ResultView[], { ask, buy_url }: Asking): Promise<ToolResult> {
  const { job_id, status } = job;
  // An answer may have the first results alone.
  const is_whole = known.length >= job.completed_urls;
  const verdicts: Verdicts = is_whole ? countsOf(known) : (await ask(OPERATIONS.stats, ofJob(job_id))).verdicts;
  const isWrong = ({ verdict }: ResultView) => verdict !== 'ok' && verdict !== 'redirected';
  const results = known.length > MOST_SHOWN ? known.filter(isWrong).slice(0, MOST_SHOWN) : known;
  return {
    structured: { ...job, verdicts, results },
    text: checkedText(job, verdicts, results.length, buy_url),
    ...(status === 'processing' && { unfinished: job }),
    ...lackOf(job),
  };
}

/** What `check_urls` answers of a job that has stopped, once a task is asked for it. */
export async function checkedLater(job: JobView, asking: Asking): Promise<ToolResult> {
  const { properties } = OPERATIONS.results.query;
  const asked = {
    ...ofJob(job.job_id),
    query: { cursor: '', limit: (properties.limit as { maximum?: number }).maximum },
  };
  const { results } = await asking.ask(OPERATIONS.results, asked);
  return await checked({ ...job, timed_out: false } as JobView, results, asking);
}

const lackOf = (job: JobView) =>
  job.status === 'paused' && job.pause_reason === 'credit_ceiling' ? { lacks_credits: job } : {};

export const aboutJob = (job: JobView, { buy_url }: Asking): ToolResult => ({
  structured: job,
  text: jobText(job, buy_url),
});

const start_job = tool({
  title: 'Start a job',
  description:
    'Submits URLs and answers with the job at once, for long lists. Follow it with get_job, then read get_results.',
  input: { urls, idempotency_key },
  output: outputOf(OPERATIONS.start),
  is_read: false,
  is_idempotent: false,
  async call({ urls, idempotency_key }, asking) {
    const job = await asking.ask(OPERATIONS.start, { ...withKey(idempotency_key), body: { urls } });
    return { ...aboutJob(job, asking), ...lackOf(job) };
  },
});

const aJob = (operation: Operation, spec: Pick<Tool, 'title' | 'description' | 'is_read'>) =>
  tool({
    ...spec,
    input: { job_id },
    output: outputOf(operation),
    is_idempotent: true,
    call: async ({ job_id }, asking) => aboutJob(await asking.ask(operation, ofJob(job_id)), asking),
  });

const get_job = aJob(OPERATIONS.job, {
  title: 'Show a job',
  description: 'Shows the status and the progress of a job. While it is processing, ask again after some seconds.',
  is_read: true,
});
const resume_job = aJob(OPERATIONS.resume, {
  title: 'Resume a job',
  description:
    'Goes on with a paused job, for instance once credits have been bought. Reserves credits for its unchecked URLs.',
  is_read: false,
});
const cancel_job = aJob(OPERATIONS.cancel, {
  title: 'Cancel a job',
  description: 'Ends a job. Its results stay, and the credits of its unchecked URLs come back.',
  is_read: false,
});

const { offset: _, ...of_page } = OPERATIONS.results.query.properties;

const get_results = tool({
  title: 'Read results',
  description:
    'Reads a page of the results of a job, in the order of its list. Go on with next_cursor and the same filters until it is null.',
  input: { job_id, ...of_page },
  output: outputOf(OPERATIONS.results, ['items']),
  is_read: true,
  is_idempotent: true,
  async call({ job_id, ...query }, { ask }) {
    const asked = { ...ofJob(job_id), query: { cursor: '', ...query } };
    const { items: _, ...page } = await ask(OPERATIONS.results, asked);
    const more = page.next_cursor === null ? 'There are no others.' : 'Go on with next_cursor.';
    return { structured: page, text: `${page.results.length} of ${page.total} results. ${more}` };
  },
});

/** The longest text that the filter takes, and the most pages that are read for a URL that is a part of many others. */
const [MOST_CHARS, MOST_PAGES, PAGE] = [500, 10, 100];

const explain_result = tool({
  title: 'Explain a result',
  description: 'Says what was found of one URL of a job, what its verdict rests on, and what to do about it.',
  input: { job_id, url: Type.String({ minLength: 1, maxLength: 8192, description: 'The URL as it was submitted.' }) },
  output: Type.Object({ explanation: Type.String(), result: ResultView }),
  is_read: true,
  is_idempotent: true,
  async call({ job_id, url }, { ask }) {
    let cursor: string | null = '';
    for (let page = 0; page < MOST_PAGES && cursor !== null; page++) {
      const query = { cursor, limit: PAGE, url_contains: url.slice(-MOST_CHARS) };
      const { results, next_cursor } = await ask(OPERATIONS.results, { ...ofJob(job_id), query });
      const result = results.find((one: ResultView) => one.url === url);
      if (result) return { structured: { explanation: explanationOf(result), result }, text: explanationOf(result) };
      cursor = results.length === 0 ? null : next_cursor;
    }
    throw new HttpError(
      404,
      'url_not_found',
      'The job has no result of this URL, or not yet. Look for it with get_results.',
    );
  },
});

const get_usage = tool({
  title: 'Show credits',
  description: 'Shows the remaining credits, the plan, and the credits used in the period. One URL costs one credit.',
  input: {},
  output: outputOf(OPERATIONS.usage),
  is_read: true,
  is_idempotent: true,
  async call(_, { ask, buy_url }) {
    const usage = await ask(OPERATIONS.usage, {});
    return { structured: usage, text: creditsText(usage.available_credits, buy_url) };
  },
});

export const TOOLS: Readonly<Record<string, Tool>> = {
  ...{ check_urls, start_job, get_job, get_results, explain_result, resume_job, cancel_job, get_usage },
};
