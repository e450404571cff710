// Answers one message of the Model Context Protocol by its SDK: lists the tools, calls them, and asks the user for credits. Each message has a
// server of its own, and nothing is kept between two.
import type * as Sdk from '@modelcontextprotocol/server';
import type { TObject } from '../../events/schema.ts';
import { PUBLIC } from '../apis/public.ts';
import { type HttpError, ValidationError } from '../frame/errors.ts';
import { openValidation } from '../frame/input/validation.ts';
import type { JobView } from '../jobs/job-view.ts';
import { VERSION } from '../openapi/conventions.ts';
import { OPERATIONS, ofJob } from './operations.ts';
import { type Brought, Serving, succeeded, TASKS } from './serving.ts';
import { askForCredits, hasAccepted, newTask, serveTasks } from './tasks.ts';
import { toBuy } from './texts.ts';
import { type Asking, aboutJob, checkedLater, TOOLS, type ToolResult } from './tools.ts';

const INSTRUCTIONS =
  'Checks which URLs are broken, redirected or soft 404s. Call check_urls for up to some thousands of URLs, start_job for more. One URL costs ' +
  'one credit. Send an idempotency_key with each list, and repeat a call whose answer was lost with the same key.';

const plain = (schema: TObject) =>
  JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value))) as { type: 'object' };

const LISTED = Object.entries(TOOLS).map(([name, { title, description, input, output, is_read, is_idempotent }]) => ({
  ...{ name, title, description, inputSchema: plain(input), outputSchema: plain(output) },
  annotations: {
    ...{ readOnlyHint: is_read, idempotentHint: is_idempotent, openWorldHint: name === 'check_urls' },
    destructiveHint: name === 'cancel_job',
  },
}));

const validation = openValidation();
const CHECKS = new Map(Object.entries(TOOLS).map(([name, { input }]) => [name, validation.compile('body', input)]));

export function openServer(sdk: typeof Sdk, era: 'modern' | 'legacy', brought: Brought): Sdk.Server {
  const serving = new Serving(sdk, brought);
  const is_modern = era === 'modern';
  const capabilities = { tools: {}, ...(is_modern && { extensions: { [TASKS]: {} } }) };
  const server = new sdk.Server(
    { name: 'url-checker', title: 'URL checker', version: VERSION },
    { capabilities, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({ tools: LISTED }));
  server.setRequestHandler('tools/call', ({ params }, ctx) => answerCall(serving, params, ctx));
  if (is_modern) serveTasks(serving, server);
  return server;
}

async function answerCall(
  serving: Serving,
  params: Sdk.CallToolRequestParams,
  ctx: Sdk.ServerContext,
): Promise<Sdk.CallToolResult | Sdk.InputRequiredResult> {
  const { sdk } = serving;
  const client = serving.clientOf(ctx);
  const { buy_url, opens_urls, takes_tasks } = client;
  const { inputResponses } = ctx.mcpReq;
  /** The job that the user was asked about before, when this is the call after the question. */
  const asked_about = ctx.mcpReq.requestState<string>();
  const may_ask = opens_urls && asked_about === undefined;
  try {
    const result =
      asked_about === undefined || asked_about === NO_JOB
        ? await called(sdk, params, client)
        : await calledAgain(params.name, asked_about, hasAccepted(inputResponses), client);
    const { lacks_credits, unfinished, text } = result;
    if (lacks_credits && may_ask && buy_url !== null) return askForCredits(text, buy_url, lacks_credits.job_id);
    return unfinished && takes_tasks ? newTask(unfinished) : succeeded(result);
  } catch (thrown) {
    if (thrown instanceof sdk.ProtocolError) throw thrown;
    const error = serving.errorOf(thrown);
    const is_lack = error.status === 402;
    if (is_lack && may_ask && buy_url !== null) return askForCredits(error.message, buy_url, NO_JOB);
    return failed(error, is_lack ? ` ${toBuy(buy_url)}` : '');
  }
}

/** In the place of a job's id where credits lacked for any. What a client makes of the state gives it no more than its arguments do. */
const NO_JOB = 'none';
/** More would fill the context of a model with one fault of a long list. */
const MOST_PROBLEMS = 10;

async function called(
  sdk: typeof Sdk,
  { name, arguments: args = {} }: Sdk.CallToolRequestParams,
  asking: Asking,
): Promise<ToolResult> {
  const check = CHECKS.get(name);
  if (!check)
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `There is no tool ${JSON.stringify(name)}.`);
  const problems = check(args).map(({ loc, ...rest }) => ({ ...rest, loc: ['arguments', ...loc.slice(1)] }));
  if (problems.length > 0) throw new ValidationError(problems);
  return await TOOLS[name]!.call(args as never, asking);
}

/** Goes on with the job that lacked credits, once its user has been asked to buy some. */
async function calledAgain(name: string, job_id: string, is_resumed: boolean, asking: Asking): Promise<ToolResult> {
  if (is_resumed) await asking.ask(OPERATIONS.resume, ofJob(job_id));
  const job: JobView = await asking.ask(OPERATIONS.job, ofJob(job_id));
  return name === 'check_urls' ? await checkedLater(job, asking) : aboutJob(job, asking);
}

/** Where to put right what is wrong with the arguments, models read in the text. */
function failed(error: HttpError, hint: string) {
  const retry_s = error.headers['retry-after'] ?? error.headers['Retry-After'];
  const later = retry_s === undefined ? '' : ` Call again in ${retry_s} s.`;
  const others = error instanceof ValidationError ? error.problems.slice(1, MOST_PROBLEMS) : [];
  const lines = others.map(({ loc, msg }) => `\n${loc.join('.')}: ${msg}`);
  return {
    content: [{ type: 'text' as const, text: `${error.message}${hint}${later}${lines.join('')}` }],
    structuredContent: PUBLIC.errorBody(error) as Record<string, unknown>,
    isError: true,
  };
}
