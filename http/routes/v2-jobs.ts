// The public API's jobs: submit a list, look, page through the results.
import { Type } from 'typebox';
import { submitList } from '../../intake/collect-urls.ts';
import { resultsAfter, resultsPage } from '../../readmodels/results.ts';
import { HttpError } from '../errors.ts';
import { JobView, jobExample, jobView } from '../job-view.ts';
import {
  cursorAfter,
  filterOf,
  indexOfCursor,
  paging,
  ResultView,
  resultExample,
  resultFilters,
  resultView,
  statusGroup,
} from '../result-view.ts';
import { jsonBody } from '../route.ts';
import { route } from '../services.ts';
import { intakeLimits, submit } from '../submit.ts';

const tags = ['jobs'];
const MAX_BODY_BYTES = 128 * 1024 * 1024;

export const create = route({
  method: 'POST',
  path: '/api/v2/jobs',
  access: 'api-key',
  summary: 'Submit a list of URLs',
  description: 'Reserves one credit a URL. With fewer credits than URLs the job works up to them and is then paused.',
  tags,
  body: jsonBody(Type.Object({ urls: Type.Array(Type.String(), { minItems: 1 }) }), {
    limit_bytes: MAX_BODY_BYTES,
    example: { urls: ['https://example.com/', 'https://example.com/about'] },
  }),
  responses: { 201: { description: 'The job.', schema: JobView, example: { ...jobExample, source: 'api' } } },
  errors: {
    402: 'There are no credits left.',
    409: 'The submission took so long that it was given up.',
    413: 'The body is too large, or holds too many URLs.',
    422: 'None of the URLs can be checked, or the request is not valid.',
  },
  async handler(request, services) {
    const { blocked_domain_of } = await services.blocklist.current();
    const urls = submitList(request.body.urls, { ...intakeLimits(services.config), blocked_domain_of });
    return submit({ source: 'api', urls, file: null, needs_credits: true }, request, services);
  },
});

export const get = route({
  method: 'GET',
  path: '/api/v2/jobs/{id}',
  access: 'api-key',
  owns: 'id',
  summary: 'Status and progress of a job',
  tags,
  responses: { 200: { description: 'The job.', schema: JobView, example: jobExample } },
  async handler({ params }, { read }) {
    const job = await read.jobs.get(params.id);
    if (!job) throw new HttpError(404, 'not_found', 'There is no such job.');
    return { body: jobView(job) };
  },
});

export const results = route({
  method: 'GET',
  path: '/api/v2/jobs/{id}/results',
  access: 'api-key',
  owns: 'id',
  summary: 'Results of a job, in order of submission',
  description:
    'By offset, pages may shift while results arrive. By cursor they do not: begin with an empty `cursor`, go on with ' +
    '`next_cursor` until it is null. While the job is processing, cursor pages end where a result is still missing.',
  tags,
  query: Type.Object({
    ...paging(50),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'Of the page before; empty to begin.' })),
    ...resultFilters,
    status_group: statusGroup,
  }),
  responses: {
    200: {
      description: 'A page of results.',
      schema: Type.Object({
        results: Type.Array(ResultView),
        items: Type.Array(ResultView, { description: 'The same as `results`.' }),
        next_cursor: Type.Union([Type.String(), Type.Null()]),
        total: Type.Integer(),
      }),
      example: { results: [resultExample], items: [resultExample], next_cursor: null, total: 1 },
    },
  },
  async handler({ params, query }, { read }) {
    const { limit, offset, cursor } = query;
    const filter = filterOf(query);
    const job = await read.jobs.get(params.id);
    if (!job) throw new HttpError(404, 'not_found', 'There is no such job.');
    if (cursor === undefined) {
      const page = await resultsPage(read.results, job, filter, { limit, offset });
      const last = page.items.at(-1);
      const more = offset + page.items.length < page.total;
      return answer(page.items.map(resultView), more && last ? cursorAfter(last.index) : null, page.total);
    }
    // While it works, batches end out of order: what comes after a gap is not shown before the gap is filled.
    const before = job.status === 'processing' ? job.batches_done_before * job.batch_size : job.total_urls;
    const page = await resultsAfter(read.results, job, filter, { limit, after: indexOfCursor(cursor), before });
    return answer(page.items.map(resultView), page.next === null ? null : cursorAfter(page.next), page.total);
  },
});

function answer(results: ResultView[], next_cursor: string | null, total: number) {
  return { body: { results, items: results, next_cursor, total } };
}
