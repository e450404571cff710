// Jobs as tasks (the extension `io.modelcontextprotocol/tasks`): a task's id is that of its job, so any process answers for it, after any restart.
import type { CallToolResult, InputRequiredResult, Result, Server } from '@modelcontextprotocol/server';
import type { JobView } from '../jobs/job-view.ts';
import { OPERATIONS, ofJob } from './operations.ts';
import { type Client, type Serving, succeeded } from './serving.ts';
import { checkedLater } from './tools.ts';

/** The least time between two questions about a task: the limit of requests a minute leaves room for others. */
const POLL_MS = 5000;

interface Found {
  /** What the call that became the task would have answered. */
  result: object;
  /** Present where credits lack that the user can be asked to buy. */
  asks?: { text: string; buy_url: string };
}

/** The answer to a call that became a task. */
export const newTask = (job: JobView) => ({ resultType: 'task', ...taskOf(job) }) as unknown as CallToolResult;

/** The answer about a task. Without `found`, its job goes on or was cancelled. */
function taskOf(job: JobView, found?: Found): object {
  const { job_id, created_at, started_at, completed_at, completed_urls, total_urls } = job;
  return {
    taskId: job_id,
    status: found
      ? found.asks
        ? 'input_required'
        : 'completed'
      : job.status === 'cancelled'
        ? 'cancelled'
        : 'working',
    statusMessage: `${completed_urls} of ${total_urls} URLs checked`,
    createdAt: created_at,
    lastUpdatedAt: completed_at ?? started_at ?? created_at,
    ttlMs: null,
    pollIntervalMs: POLL_MS,
    ...(found &&
      (found.asks ? { inputRequests: { [nameOfQuestion()]: question(found.asks) } } : { result: found.result })),
  };
}

const BUY = 'buy_credits';
/** A question that was answered is not asked again under its name, and one that was answered in vain is asked again after some minutes. */
const ASKED_AGAIN_MS = 10 * 60_000;
const nameOfQuestion = () => `${BUY}_${Math.floor(Date.now() / ASKED_AGAIN_MS)}`;

const question = ({ text: message, buy_url: url }: { text: string; buy_url: string }) => ({
  method: 'elicitation/create' as const,
  params: { mode: 'url' as const, message, url },
});

/** Has the client show its user where credits can be bought, and call the tool again with the answer and `requestState`. */
export const askForCredits = (text: string, buy_url: string, requestState: string): InputRequiredResult => ({
  resultType: 'input_required',
  inputRequests: { [BUY]: question({ text, buy_url }) } as unknown as NonNullable<InputRequiredResult['inputRequests']>,
  requestState,
});

/** Whether the user has agreed to buy. */
export const hasAccepted = (responses: unknown): boolean =>
  Object.entries((responses ?? {}) as Record<string, { action?: unknown } | null>).some(
    ([name, response]) => name.startsWith(BUY) && response?.action === 'accept',
  );

interface OfTask {
  taskId: string;
  inputResponses?: Record<string, unknown>;
}

/** Registers the methods of the extension. */
export function serveTasks(serving: Serving, server: Server): void {
  const { fromJsonSchema, ProtocolError, ProtocolErrorCode } = serving.sdk;
  const params = fromJsonSchema<OfTask>({
    type: 'object',
    properties: { taskId: { type: 'string', minLength: 1, maxLength: 100 }, inputResponses: { type: 'object' } },
    required: ['taskId'],
  });
  for (const [method, answer] of Object.entries(METHODS)) {
    server.setRequestHandler(method, { params }, async (of, ctx) => {
      try {
        return (await answer(of, serving.clientOf(ctx))) as Result;
      } catch (thrown) {
        const { status, code, message } = serving.errorOf(thrown);
        const { InvalidParams, InternalError } = ProtocolErrorCode;
        throw new ProtocolError(status < 500 ? InvalidParams : InternalError, message, { code });
      }
    });
  }
}

const METHODS: Readonly<Record<string, (of: OfTask, client: Client) => Promise<object>>> = {
  async 'tasks/get'({ taskId }, client) {
    const job: JobView = await client.ask(OPERATIONS.job, ofJob(taskId));
    const { status, pause_reason } = job;
    const goes_on = status === 'processing' || (status === 'paused' && pause_reason === 'owner');
    if (goes_on || status === 'cancelled') return taskOf(job);
    const result = await checkedLater(job, client);
    const { opens_urls, buy_url } = client;
    return taskOf(job, {
      result: { ...succeeded(result), ...(status === 'failed' && { isError: true }) },
      ...(result.lacks_credits && opens_urls && buy_url !== null && { asks: { text: result.text, buy_url } }),
    });
  },
  async 'tasks/update'({ taskId, inputResponses }, client) {
    // Whose task it is, and that there is one, is asked in any case.
    const operation = hasAccepted(inputResponses) ? OPERATIONS.resume : OPERATIONS.job;
    await client.ask(operation, ofJob(taskId));
    return {};
  },
  async 'tasks/cancel'({ taskId }, client) {
    await client.ask(OPERATIONS.cancel, ofJob(taskId));
    return {};
  },
};
