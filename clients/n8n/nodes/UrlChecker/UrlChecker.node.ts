// The node: it checks the URLs of all its items in one job, and returns an item for each; or it asks one operation of a job.
import {
  type IDataObject,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  NodeConnectionTypes,
  NodeOperationError,
  sleep,
} from 'n8n-workflow';
import { properties } from './properties';
import { allResults, idempotencyKey, type Job, rejectedItems, request } from './requests';

/** Between two looks at a job that is being checked. */
const POLL_MS = 1000;

export class UrlChecker implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'URL Checker',
    name: 'urlChecker',
    icon: { light: 'file:../../icons/url-checker.svg', dark: 'file:../../icons/url-checker.dark.svg' },
    group: ['transform'],
    version: 1,
    subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
    description: 'Find dead links and soft 404s',
    defaults: { name: 'URL Checker' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials: [{ name: 'urlCheckerApi', required: true }],
    properties,
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const items = this.getInputData();
    const operation = this.getNodeParameter('operation', 0) as string;
    if (operation === 'check' || operation === 'start') {
      const all = async () => {
        const job = await submit.call(this, items.length);
        if (operation === 'check') return await checked.call(this, job, items.length);
        return [{ json: job, pairedItem: items.map((_, item) => ({ item })) }];
      };
      return [
        await orError(this, all, (error) =>
          items.map(({ json }, item) => ({ json: { ...json, error }, pairedItem: { item } })),
        ),
      ];
    }
    const found: INodeExecutionData[] = [];
    for (let item = 0; item < items.length; item++) {
      const answers = async () =>
        (await OPERATIONS[operation].call(this, item)).map((json) => ({ json, pairedItem: { item } }));
      found.push(...(await orError(this, answers, (error) => [{ json: { error }, pairedItem: { item } }])));
    }
    return [found];
  }
}

/** Where the user wants a workflow to go on after a failure, the failure is an item too. */
async function orError(
  functions: IExecuteFunctions,
  work: () => Promise<INodeExecutionData[]>,
  failed: (message: string) => INodeExecutionData[],
): Promise<INodeExecutionData[]> {
  if (!functions.continueOnFail()) return await work();
  try {
    return await work();
  } catch (error) {
    return failed(error.message);
  }
}

const jobPath = (functions: IExecuteFunctions, item: number) =>
  `/jobs/${encodeURIComponent(functions.getNodeParameter('jobId', item) as string)}`;

/** The operations that an item asks by itself. */
const OPERATIONS: Readonly<Record<string, (this: IExecuteFunctions, item: number) => Promise<IDataObject[]>>> = {
  async get(item) {
    return [await request.call(this, 'GET', jobPath(this, item))];
  },
  async cancel(item) {
    return [await request.call(this, 'DELETE', jobPath(this, item))];
  },
  async resume(item) {
    return [await request.call(this, 'POST', `${jobPath(this, item)}/resume`)];
  },
  async getUsage() {
    return [await request.call(this, 'GET', '/usage')];
  },
  async getResults(item) {
    const verdict = this.getNodeParameter('verdict', item, '') as string;
    const returnAll = this.getNodeParameter('returnAll', item) as boolean;
    const most = returnAll ? Infinity : (this.getNodeParameter('limit', item) as number);
    return await allResults.call(this, jobPath(this, item), most, verdict === '' ? {} : { verdict });
  },
};

async function submit(this: IExecuteFunctions, count: number): Promise<Job> {
  const urls: IDataObject[] = [];
  for (let item = 0; item < count; item++) {
    const url = this.getNodeParameter('url', item, '');
    if (typeof url !== 'string' || url === '') {
      throw new NodeOperationError(this.getNode(), 'The item has no URL', { itemIndex: item });
    }
    urls.push({ url, ref: String(item) });
  }
  const { acceptStatusCodes = '', label } = this.getNodeParameter('options', 0, {}) as IDataObject;
  const codes = String(acceptStatusCodes)
    .split(',')
    .filter((code) => code.trim() !== '');
  const body = {
    items: urls,
    ...(label ? { label } : {}),
    ...(codes.length > 0 ? { options: { accept_status_codes: codes.map(Number) } } : {}),
  };
  const headers = { 'Idempotency-Key': idempotencyKey(this, JSON.stringify(body)) };
  return (await request.call(this, 'POST', '/jobs', { body, headers })) as Job;
}

/** The results of the job, one for each item in the order of the items: also for what is no URL, and for a URL that came before. */
async function checked(this: IExecuteFunctions, job: Job, count: number): Promise<INodeExecutionData[]> {
  const { waitSeconds = 600 } = this.getNodeParameter('options', 0, {}) as { waitSeconds?: number };
  const path = `/jobs/${job.job_id}`;
  const until = Date.now() + waitSeconds * 1000;
  let now = job;
  while (now.status === 'processing') {
    if (Date.now() > until) {
      throw new NodeOperationError(this.getNode(), `The job ${job.job_id} is not complete after ${waitSeconds} s`, {
        description: 'It goes on. Get its results later by its ID, or set the option "Wait Seconds".',
      });
    }
    await sleep(POLL_MS);
    now = (await request.call(this, 'GET', path)) as Job;
  }
  if (now.status !== 'completed') {
    throw new NodeOperationError(
      this.getNode(),
      `The job ${job.job_id} is ${now.status}: ${now.pause_reason ?? now.failure_reason ?? 'somebody ended it'}`,
      {
        description: 'Its results so far can be got by its ID.',
      },
    );
  }
  const found = new Array<IDataObject | undefined>(count);
  for (const result of await allResults.call(this, path, Infinity)) found[Number(result.ref)] = result;
  for (const { ref, value, reason, message, duplicate_of_row } of await rejectedItems.call(this, path)) {
    const first = duplicate_of_row === null ? undefined : found[duplicate_of_row - 1];
    found[Number(ref)] = first ? { ...first, url: value } : { url: value, verdict: null, rejected: reason, message };
  }
  return found.flatMap((result, item) => {
    if (!result) return [];
    delete result.ref;
    return [{ json: result, pairedItem: { item } }];
  });
}
