// The administrators' log of attempts: what checkers asked, and what came of it.
import { openWorkerLogCommands } from '../../commands/worker-log.ts';
import { ERROR_CODES } from '../../events/checks.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { openUrlListing } from '../../events/url-listing.ts';
import type { WorkerLogEvent } from '../../events/worker-log.ts';
import { parseDomain } from '../../intake/domain.ts';
import type { LogFilter } from '../../readmodels/operations/log-follower.ts';
import { openWorkerLog, workerLogLimits } from '../../readmodels/operations/worker-log.ts';
import { results } from '../../readmodels/results/results.ts';
import { HOUR_MS } from '../../time/units.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError, ValidationError } from '../frame/errors.ts';
import { anError, routeOf } from '../frame/route.ts';
import { Count } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { pageSize, pagingByPage, placeOf } from '../results/result-view.ts';
import {
  LogEntryView,
  LogHourView,
  logEntryExample,
  logEntryViews,
  logHourExample,
  logHourView,
  parseLogId,
} from './log-view.ts';

/** While the log is asked for, an http process looks for new entries this often, so that a request finds most of them in memory. */
const KEEP_UP_MS = 2_000;
/** A deletion's answer waits this long until lists are without what it deleted. */
const DELETED_MS = 2_000;

function wire({ config, log, logger, read, follow, now, atEnd }: Parts) {
  const readmodels = follow('worker_log');
  const worker_log = openWorkerLog(readmodels, workerLogLimits(config), now);
  let is_away = false;
  async function look(): Promise<void> {
    try {
      await worker_log.keepUp();
      is_away = false;
    } catch (error) {
      if (!is_away) logger.debug({ err: error }, 'the worker log cannot be read; each request tries again');
      is_away = true;
    }
  }
  const looking = setInterval(look, KEEP_UP_MS);
  looking.unref();
  atEnd(async () => clearInterval(looking));
  return {
    ...{ now, worker_log, listing: openUrlListing(log), commands: openWorkerLogCommands(log), read: read({ results }) },
    passed: (position: string) => readmodels.passed(position, DELETED_MS),
  };
}
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'worker-logs');

const MAX_DOMAINS = 500;
const MAX_HOURS = 744;

const MEANING =
  'An entry is one attempt at a URL: the last one, whose outcome is the result, and each one before it that was made again. Requests that ' +
  'went through another proxy because one failed, redirects and probes for soft 404s are parts of their attempt. An outcome that the ' +
  'failures of other URLs of the origin decided has an entry too, without a request of its own. Entries come within a second after the ' +
  'checker has recorded the outcome; they go with their job, with a deletion, and by age and number (`WORKER_LOG_DAYS`, ' +
  '`WORKER_LOG_ENTRIES`).';

const domain = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 253,
    description: 'The host of the URL, whole.',
    examples: ['www.example.com'],
  }),
);
const job_id = Type.Optional(
  Type.String({ minLength: 1, maxLength: 64, description: 'The id of the job.', examples: [logEntryExample.job_id] }),
);
const NON_2XX = 'Only attempts without a 2xx, those without an answer included.';

/** A domain may be written in any case or script. */
function filterOf({ domain, ...rest }: LogFilter): LogFilter {
  if (domain === undefined) return rest;
  const parsed = parseDomain(domain);
  return { ...rest, domain: 'domain' in parsed ? parsed.domain : domain };
}

const USUAL_PAGE = 100;

const list = route({
  id: 'listWorkerLogs',
  method: 'GET',
  path: '/logs',
  access: 'admin',
  summary: 'List attempts at URLs, the newest first',
  description: MEANING,
  query: Type.Object({
    ...pagingByPage(USUAL_PAGE),
    page_size: pageSize(USUAL_PAGE),
    domain,
    status_code: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 999, description: 'The status code of the answer.', examples: [503] }),
    ),
    non_2xx: Type.Boolean({ default: false, description: NON_2XX }),
    has_error: Type.Optional(
      Type.Boolean({ description: 'Attempts that ended with an error code, or with `false` those that did not.' }),
    ),
    job_id,
  }),
  responses: {
    200: {
      description: 'A page of entries to which all given filters apply.',
      schema: Type.Object(
        {
          items: Type.Array(LogEntryView),
          total: Count('Entries on all pages.'),
          limit: Type.Integer(),
          offset: Type.Integer(),
          page: Type.Integer(),
          page_size: Type.Integer(),
        },
        { $id: 'LogEntryList' },
      ),
      example: { items: [logEntryExample], total: 1, limit: 100, offset: 0, page: 1, page_size: 100 },
    },
  },
  async handler({ query }, { worker_log, listing, read }) {
    const { limit: _limit, offset: _offset, page: _page, page_size: _size, ...filters } = query;
    const place = placeOf(query, USUAL_PAGE);
    const { items, total } = await worker_log.list(filterOf(filters), place);
    return { body: { items: await logEntryViews(items, read.results, listing), total, ...place } };
  },
});

const Frequent = (fields: Parameters<typeof Type.Object>[0]) =>
  Type.Array(Type.Object({ ...fields, entries: Count('Entries with it.') }));

const options = route({
  id: 'getWorkerLogFilterOptions',
  method: 'GET',
  path: '/logs/filter-options',
  access: 'admin',
  summary: 'Show the domains and codes that the log has, to filter by',
  responses: {
    200: {
      description: `The ${MAX_DOMAINS} most frequent domains, and all status and error codes.`,
      schema: Type.Object({
        domains: Frequent({ domain: Type.String() }),
        domains_total: Count('Domains in the log.'),
        status_codes: Frequent({ status_code: Nullable(Type.Integer({ description: 'Null: no answer.' })) }),
        error_codes: Frequent({ error_code: Type.Enum(ERROR_CODES) }),
      }),
      example: {
        ...{ domains: [{ domain: 'www.example.com', entries: 120 }], domains_total: 1 },
        status_codes: [
          { status_code: 200, entries: 118 },
          { status_code: null, entries: 2 },
        ],
        error_codes: [{ error_code: 'connect_timeout', entries: 2 }],
      },
    },
  },
  handler: async (_, { worker_log }) => ({ body: await worker_log.options(MAX_DOMAINS) }),
});

const stats = route({
  id: 'getWorkerLogStats',
  method: 'GET',
  path: '/logs/stats',
  access: 'admin',
  summary: 'Count attempts by hour',
  query: Type.Object({
    hours: Type.Integer({
      ...{ minimum: 1, maximum: MAX_HOURS, default: 24 },
      description: 'The number of hours of the day, the running one included.',
    }),
  }),
  responses: {
    200: {
      description: 'Every hour, the oldest first, and their sum.',
      schema: Type.Object({ hours: Type.Integer(), totals: LogHourView, series: Type.Array(LogHourView) }),
      example: { hours: 1, totals: logHourExample, series: [logHourExample] },
    },
  },
  async handler({ query: { hours } }, { worker_log, now }) {
    const to_ms = now();
    const found = await worker_log.stats(to_ms - (hours - 1) * HOUR_MS, to_ms);
    const sum = { ...found[0]! };
    for (const hour of found.slice(1)) {
      sum.entries += hour.entries;
      sum.non_2xx += hour.non_2xx;
      sum.errors += hour.errors;
      sum.answers += hour.answers;
      sum.duration_total_ms += hour.duration_total_ms;
    }
    return { body: { hours, totals: logHourView(sum), series: found.map(logHourView) } };
  },
});

const Deleted = Type.Object(
  { deleted: Count('Entries that the log had when the request came.') },
  { $id: 'DeletedLogs' },
);
const deletedExample = { deleted: 42 };
const FOR_GOOD = 'They stay deleted when the log is rebuilt. Results stay, and entries of attempts from then on.';

/** The answer waits, for a bounded time, until lists are without the entries. */
async function deleteWhat(what: WorkerLogEvent, context: Parameters<Deps['commands']['delete']>[1], deps: Deps) {
  const position = await deps.commands.delete(what, context);
  await deps.passed(position);
  return position;
}

const deleteSome = route({
  id: 'deleteWorkerLogs',
  method: 'DELETE',
  path: '/logs',
  access: 'admin',
  summary: 'Delete the entries to which all given filters apply',
  description: `${FOR_GOOD} At least one filter is needed; \`POST /logs/truncate\` deletes all entries.`,
  query: Type.Object({
    job_id,
    domain,
    non_2xx: Type.Boolean({ default: false, description: NON_2XX }),
    older_than_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        description: 'Only entries of more than so many hours ago; 0 alone is no filter.',
        examples: [168],
      }),
    ),
  }),
  responses: { 200: { description: 'They are deleted.', schema: Deleted, example: deletedExample } },
  errors: { 422: 'No filter is given, or the request is not valid.' },
  async handler({ query, command }, deps) {
    const { older_than_hours, ...filters } = query;
    // Every entry is older than 0 hours.
    if (!filters.non_2xx && !older_than_hours && !filters.job_id && !filters.domain) {
      const msg = 'needs job_id, domain, non_2xx=true, or older_than_hours from 1';
      throw new ValidationError([{ loc: ['query'], msg, type: 'filter_required' }]);
    }
    const context = command();
    const before_ms = older_than_hours === undefined ? undefined : context.now - older_than_hours * HOUR_MS;
    const filter: LogFilter = { ...filterOf(filters), ...(before_ms !== undefined && { before_ms }) };
    const { total: deleted } = await deps.worker_log.list(filter, { limit: 1, offset: 0 });
    const data = {
      ...(filter.job_id !== undefined && { job_id: filter.job_id }),
      ...(filter.domain !== undefined && { domain: filter.domain }),
      ...(filter.non_2xx && { non_2xx: true as const }),
      ...(before_ms !== undefined && { before: new Date(before_ms).toISOString() }),
    };
    const position = await deleteWhat({ type: 'LogsDeleted', data }, context, deps);
    return { body: { deleted }, position };
  },
});

const NO_ENTRY = 'There is no such entry.';

const deleteOne = route({
  id: 'deleteWorkerLog',
  method: 'DELETE',
  path: '/logs/{log_id}',
  access: 'admin',
  summary: 'Delete one entry',
  responses: { 204: { description: 'It is deleted, also when the log is rebuilt.' } },
  errors: { 404: anError(NO_ENTRY, 'log_not_found', NO_ENTRY) },
  async handler({ params, command }, deps) {
    const of = parseLogId(params.log_id);
    if (of === null || (await deps.worker_log.find(of)) === null) throw new HttpError(404, 'log_not_found', NO_ENTRY);
    const position = await deleteWhat({ type: 'LogDeleted', data: of }, command(), deps);
    return { status: 204, position };
  },
});

const truncate = route({
  id: 'truncateWorkerLogs',
  method: 'POST',
  path: '/logs/truncate',
  access: 'admin',
  summary: 'Delete all entries',
  description: FOR_GOOD,
  responses: { 200: { description: 'They are deleted.', schema: Deleted, example: deletedExample } },
  async handler({ command }, deps) {
    const { total: deleted } = await deps.worker_log.list({}, { limit: 1, offset: 0 });
    const position = await deleteWhat({ type: 'LogsTruncated', data: {} }, command(), deps);
    return { body: { deleted }, position };
  },
});

export const group = groupOf(wire, [list, options, stats, deleteSome, deleteOne, truncate]);
