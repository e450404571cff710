// Shares are public links to a job: its owner creates, lists and revokes them, and visitors see its results.
import {
  idOfShareToken,
  MAX_SHARES,
  NO_SUCH_SHARE,
  newShareToken,
  openShares,
  TOO_MANY_SHARES,
} from '../../commands/shares.ts';
import { VERDICTS } from '../../events/checks.ts';
import { Type } from '../../events/schema.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import { resultsPage } from '../../readmodels/results/result-pages.ts';
import { results, STATUS_GROUPS } from '../../readmodels/results/results.ts';
import { jobStats, namedCounts, noStats, type StatsDocument, statusGroups } from '../../readmodels/results/stats.ts';
import { SHARE_STATUSES, type ShareDocument, shares as shareDocuments, shareStatus } from '../../readmodels/shares.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { accepted, assertResultsKept, HttpError } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { asThrown, type Reply, routeOf } from '../frame/route.ts';
import { Count, CountsOf, listOf, listReply, NullableTime, pick, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { JobView, jobExample, jobView } from '../jobs/job-view.ts';
import {
  filterOf,
  isShortPage,
  paging,
  ResultView,
  resultExample,
  resultFilters,
  resultViews,
} from '../results/result-view.ts';
import { openLinkedJobs } from './linked-jobs.ts';
import { expiredSharePage, MOST_SHOWN, noSharePage, SHARE_POLICY, sharePage } from './share-page.ts';
import { openShareUses, type ShareUses } from './share-uses.ts';

function wire({ log, logger, jobs: job_commands, accounts, read, now, public_url, consoleFiles, kept, atEnd }: Parts) {
  const commands = openShares(log);
  const shareUses = openShareUses(commands, logger, now);
  atEnd(shareUses.close);
  const collections = read({ jobs, results, shares: shareDocuments, jobStats });
  const opensJob = openLinkedJobs(job_commands, accounts);
  /** Asks the log: the read model may lack that the share was revoked. */
  const isOpen = async ({ _id: share_id, job_id }: ShareDocument): Promise<boolean> =>
    (await commands.isValid({ share_id, job_id })) && (await opensJob(job_id));
  return { shares: commands, isOpen, shareUses, read: collections, now, public_url, consoleFiles, kept };
}
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'shares');

const MAX_HOURS = 8760;

const exampleToken = 'q1Zx0mB6tq3o2iN5v9c4hX8yJ7wE-Lk_aGfRsUdPzTA';

const urlOf = (token: string, public_url: () => string) => `${public_url()}/share/${token}`;

const create = route({
  id: 'createShare',
  method: 'POST',
  path: '/jobs/{job_id}/share',
  access: 'owner',
  of_results: true,
  summary: 'Create a public link to the results of a job',
  description: 'Only this answer shows the token: the service keeps its hash alone.',
  body: jsonBody(
    Type.Object({
      expires_in_hours: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_HOURS, description: 'Without it, the share never expires.' }),
      ),
    }),
    { optional: true, example: { expires_in_hours: 168 } },
  ),
  responses: {
    201: {
      description: 'The share.',
      schema: Type.Object({
        id: Type.String({ description: "Names the share in its owner's requests. It opens nothing." }),
        token: Type.String(),
        url: Type.String({ format: 'uri' }),
        created_at: Time(),
        expires_at: NullableTime,
      }),
      example: {
        id: '5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592',
        token: exampleToken,
        url: `http://127.0.0.1:8080/share/${exampleToken}`,
        created_at: '2026-01-31T09:00:00.000Z',
        expires_at: '2026-02-07T09:00:00.000Z',
      },
    },
  },
  makes: {
    secrets: ['token', 'url'],
    restore(body, { secret }, deps) {
      const token = newShareToken(secret('share'));
      return { ...body, token, url: urlOf(token, deps.public_url) };
    },
  },
  errors: {
    409: asThrown(`The job has ${MAX_SHARES} shares already, without revoked ones.`, TOO_MANY_SHARES),
  },
  async handler(request, { shares, public_url }) {
    const { params, body, caller } = request;
    const { job_id } = params;
    const token = newShareToken(request.secret('share'));
    const context = request.command();
    const hours = body.expires_in_hours;
    const expires_at = hours === undefined ? null : new Date(context.now + hours * 3_600_000).toISOString();
    const { user_id } = caller;
    const created = accepted(await shares.create({ token, job_id, user_id, expires_at }, context), 409);
    const created_at = new Date(context.now).toISOString();
    return {
      status: 201,
      body: { id: idOfShareToken(token), token, url: urlOf(token, public_url), created_at, expires_at },
      position: created.position,
    };
  },
});

const ShareView = Type.Object(
  {
    id: Type.String({ description: 'The SHA-256 of the token, in hex.' }),
    created_at: Time(),
    expires_at: NullableTime,
    use_count: Count('Views. With several processes it may lag by a minute.'),
    last_used_at: NullableTime,
    status: Type.Enum(SHARE_STATUSES),
  },
  { $id: 'Share' },
);

const list = route({
  id: 'listShares',
  method: 'GET',
  path: '/jobs/{job_id}/shares',
  access: 'owner',
  summary: 'List the shares of a job, the newest first',
  description: 'The list shows ids and no tokens, because the service does not keep tokens.',
  query: Type.Object(paging(50)),
  responses: {
    200: listOf(
      'A page of shares, revoked and expired ones included.',
      ShareView,
      {
        id: '5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592',
        created_at: '2026-01-31T09:00:00.000Z',
        expires_at: null,
        use_count: 12,
        last_used_at: '2026-02-01T17:12:00.000Z',
        status: 'active',
      },
      50,
    ),
  },
  async handler({ params, query }, { read, shareUses, now }) {
    const where = { job_id: params.job_id };
    const page = await pageOf(read.shares, where, NEWEST_FIRST, query);
    return listReply(page, (share) => shareView(share, shareUses, now()), query);
  },
});

function shareView({ _id, job_id: _job, revoked_at, ...share }: ShareDocument, uses: ShareUses, now: number) {
  const pending = uses.pending(_id);
  return {
    id: _id,
    ...share,
    use_count: share.use_count + (pending?.count ?? 0),
    last_used_at: pending?.last_used_at ?? share.last_used_at,
    status: shareStatus({ revoked_at, expires_at: share.expires_at }, now),
  };
}

/** An id is hex, and longer than any token. */
const SHARE_ID = /^[0-9a-f]{64}$/;

const revoke = route({
  id: 'revokeShare',
  method: 'DELETE',
  path: '/jobs/{job_id}/share/{token}',
  access: 'owner',
  summary: 'Revoke a share, by its token or its id',
  description: 'Its link returns 404 from now on. Revoking it again changes nothing.',
  responses: { 204: { description: 'The link no longer works.' } },
  errors: {
    404: asThrown('Your job has no such share.', NO_SUCH_SHARE),
  },
  async handler(request, { shares }) {
    const { job_id, token } = request.params;
    const share_id = SHARE_ID.test(token) ? token : idOfShareToken(token);
    const revoked = accepted(await shares.revoke({ share_id, job_id }, request.command()), 404);
    return { status: 204, position: revoked.position };
  },
});

/** The fields of the job that visitors see. Its id would open the results even after the owner revokes the share. */
const SHOWN = ['status', 'total_urls', 'completed_urls', 'created_at', 'started_at', 'completed_at'] as const;
const SharedJob = Type.Pick(JobView, SHOWN);

const noShare = () => new HttpError(404, 'share_not_found', 'There is no such shared job.');

const SharedStats = Type.Object({
  checked_urls: Count('Checked URLs.'),
  broken_urls: Count('Broken URLs.'),
  soft_404_urls: Count('URLs that answered 2xx with a page that says that it does not exist.'),
  redirected_urls: Count('URLs that answered with a redirect.'),
  verdicts: CountsOf(VERDICTS, 'URLs by verdict.'),
  status_groups: CountsOf(STATUS_GROUPS, 'URLs by the groups of the filter `status_group`.'),
});

function sharedStats(stats: StatsDocument) {
  return {
    ...pick(stats, ['checked_urls', 'broken_urls', 'soft_404_urls', 'redirected_urls']),
    verdicts: namedCounts(VERDICTS, stats.verdicts),
    status_groups: statusGroups(stats),
  };
}

export const view = route({
  id: 'viewShare',
  method: 'GET',
  path: '/share/{token}',
  access: 'none',
  heavy: true,
  of_results: true,
  summary: 'Show a shared job',
  description:
    'The statistics cover all results; the page holds results that pass the filters. Other parameters count for nothing: mail programs and ' +
    'social networks add theirs to links.',
  query: Type.Object({ ...paging(50), ...resultFilters }, { additionalProperties: true }),
  responses: {
    200: {
      description:
        'The job, its statistics, and a page of its results in order of submission. Browsers, which ask for HTML first, get a page.',
      other_content_types: ['text/html'],
      schema: Type.Object({
        job: SharedJob,
        stats: SharedStats,
        items: Type.Array(ResultView),
        total: Count('Results that pass the filters.'),
        limit: Type.Integer(),
        offset: Type.Integer(),
      }),
      example: {
        job: pick(jobExample, SHOWN),
        stats: {
          checked_urls: 420,
          broken_urls: 17,
          soft_404_urls: 2,
          redirected_urls: 31,
          verdicts: namedCounts(VERDICTS, { ok: 372, redirected: 29, broken: 14, soft_404: 2, unreachable: 3 }),
          status_groups: { '2xx': 403, '3xx': 0, '4xx': 12, '5xx': 2, broken: 17, unreachable: 3 },
        },
        items: [resultExample],
        total: 420,
        limit: 50,
        offset: 0,
      },
    },
  },
  errors: {
    404: asThrown(
      'The token is unknown, expired or revoked, or the job was deleted. The answer does not say which.',
      noShare(),
    ),
  },
  async handler({ params, query, signal, ctx }, { read, isOpen, shareUses, now, consoleFiles, kept }) {
    const share = await read.shares.get(idOfShareToken(params.token));
    const is_active = share !== null && shareStatus(share, now()) === 'active' && (await isOpen(share));
    const job = is_active ? await read.jobs.get(share.job_id) : null;
    const is_page = ctx.accepts('json', 'html') === 'html';
    const style = is_page ? (await consoleFiles()).style : '';
    if (!is_active || !job) {
      if (is_page) return { ...htmlReply(noSharePage(style)), status: 404 };
      throw noShare();
    }
    if (is_page && job.results_expired_at) return { ...htmlReply(expiredSharePage(style)), status: 410 };
    assertResultsKept(job);
    const page = { ...query, limit: is_page ? MOST_SHOWN : query.limit };
    const made = (of_client?: AbortSignal) => shownJob(job, page, is_page ? style : null, read, of_client);
    const name = `share ${is_page} ${JSON.stringify(pick(page, ['status_codes', 'non_2xx', 'limit', 'offset']))}`;
    const reply = await (isShortPage(page) ? kept.of(job, name, made) : made(signal));
    shareUses.count(share._id);
    return reply;
  },
});

type ViewQuery = Parameters<typeof filterOf>[0] & { limit: number; offset: number };

/** A page with this style, or JSON without one. */
async function shownJob(
  job: JobDocument,
  query: ViewQuery,
  style: string | null,
  read: Deps['read'],
  signal?: AbortSignal,
): Promise<Reply> {
  const { limit, offset } = query;
  const [page, counted] = await Promise.all([
    resultsPage(read, job, filterOf(query), { limit, offset, ...(signal && { signal }) }),
    read.jobStats.get(job._id),
  ]);
  const shown = pick(jobView(job), SHOWN);
  const stats = sharedStats(counted ?? noStats(job._id));
  const { total } = page;
  if (style === null) {
    const items = resultViews(job, page.items);
    return { body: { job: shown, stats, items, total, limit, offset }, headers: SHARE_HEADERS };
  }
  const filter = pick(query, ['url_contains', 'status_codes', 'non_2xx']);
  const items = await Array.fromAsync(resultViews(job, page.items));
  return htmlReply(sharePage(style, { job: shown, verdicts: stats.verdicts, items, total, offset, filter }));
}

/** Of a public link: no search engine keeps it, and a cache tells the page from the JSON. */
const SHARE_HEADERS = { 'x-robots-tag': 'noindex', vary: 'Accept' };
const htmlReply = (body: string): Reply => ({
  body,
  headers: {
    ...SHARE_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': SHARE_POLICY,
  },
});

export const group = groupOf(wire, [create, list, revoke, view]);
