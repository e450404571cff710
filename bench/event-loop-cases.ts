// The requests of `bench/event-loop.ts` for each route: the largest legal bodies, the heaviest queries, and hostile
// bodies.
import { MAX_BLOCKED } from '../commands/blocklist.ts';
import { resultsTable } from '../http/results/export/columns.ts';
import { xlsxOf } from '../http/results/export/xlsx.ts';
import type { Place } from '../http/results/result-place.ts';
import type { ResultDocument } from '../readmodels/results/results.ts';
import type { Filled } from './event-loop-store.ts';
import { lots, URLS, urlAt } from './event-loop-urls.ts';

export interface Request {
  path: string;
  body?: Uint8Array | string;
  content_type?: string;
}
/** `n` counts the requests of this case. */
export interface Case {
  what: string;
  request(n: number): Request;
}

const MiB = 1024 * 1024;
const JSON_TYPE = 'application/json';
const json = (path: string, body: unknown): Request => ({
  ...{ path, content_type: JSON_TYPE },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const get = (what: string, path: string): Case => ({ what, request: () => ({ path }) });

const BOUNDARY = 'a-boundary-of-the-bench';
function upload(path: string, content: Uint8Array, filename: string): Request {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`;
  return {
    ...{ path, content_type: `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
  };
}

/** Bodies of 1 MiB, which routes with a small JSON body refuse. */
function unwanted(path: string, field: string, method_path = path): Case[] {
  const filled = (piece: string) => piece.repeat(Math.floor((MiB - 100) / piece.length));
  return [
    { what: '1 MiB of empty lists', request: () => json(method_path, `{"${field}":[${filled('[],')}[]]}`) },
    { what: '1 MiB of equal strings', request: () => json(method_path, `{"${field}":[${filled('"",')}""]}`) },
    { what: '1 MiB of numbers', request: () => json(method_path, `{"${field}":[${filled('1,')}1]}`) },
    {
      what: '1 MiB of unknown fields',
      request: () => json(method_path, `{${lots(90_000, (n) => `"${n}":1`).join(',')}}`),
    },
    { what: '1 MiB of one string', request: () => json(method_path, { [field]: 'a.'.repeat(MiB / 2 - 100) }) },
  ];
}

export async function casesOf(filled: Filled, made: { share: string; link: string }): Promise<Record<string, Case[]>> {
  const { job_id, redirected_id, ended, large_ended, endpoint_id, spare_endpoints, spare_keys, spare_shares } = filled;
  const job = `/jobs/${job_id}`;
  const user = `/admin/users/${filled.user_id}`;
  const search = (text: string) => `/admin/users?limit=100&search=${encodeURIComponent(text)}`;
  const [deep, page] = [`offset=${URLS - 1000}&limit=1000`, 'limit=1000'];
  const csv = Buffer.from(`url\n${lots(URLS, urlAt).join('\n')}`);
  const no_lines = Buffer.alloc(100 * MiB - 100, 'https://www.example.com/a,');
  const quotes = Buffer.alloc(100 * MiB - 100, '"');
  const xlsx = await workbook(200_000);
  const files: [string, Uint8Array, string][] = [
    ['CSV of 1,000,000 URLs', csv, 'a.csv'],
    ['CSV of 100 MiB in one line', no_lines, 'a.csv'],
    ['CSV of 100 MiB of quotes', quotes, 'a.csv'],
    ['XLSX of 200,000 rows', xlsx, 'a.xlsx'],
  ];
  const urls = JSON.stringify({ urls: lots(URLS, urlAt) });
  const dots = lots(1000, () => `a${'.'.repeat(2040)}:x`);
  const lists = (path: string): Case[] => [
    { what: '1,000,000 URLs', request: () => json(path, urls) },
    { what: '1,000 times "a" with 2,040 dots and ":x"', request: () => json(path, { urls: dots }) },
    { what: '64 KiB of wrong values', request: () => json(path, { urls: lots(30_000, () => 1) }) },
    { what: 'one string of 128 MiB', request: () => json(path, `{"urls":["${'a'.repeat(128 * MiB - 100)}"]}`) },
  ];
  const pages = (path: string): Case[] => [
    get('1,000 of 1,000,000, the last', `${path}?${deep}`),
    get('url_contains that few have', `${path}?${page}&url_contains=page/99999`),
    get('not 2xx, the last', `${path}?limit=1000&offset=99000&status_codes=404`),
  ];
  const redirected = (path: string) => get('1,000 results with ten redirects of 8,192 characters', `${path}?${page}`);
  const small = (path: string) => get('', path);
  const each = (what: string, ids: string[], path: (id: string) => string): Case => ({
    what,
    request: (n) => ({ path: path(ids[n % ids.length]!) }),
  });
  const webhooks = (base: string, spare: string[]): Record<string, Case[]> => {
    const path = `${base}/webhooks/endpoints`;
    return {
      [`POST ${path}`]: unwanted(path, 'events'),
      [`GET ${path}`]: [small(path)],
      [`GET ${path}/{id}`]: [small(`${path}/${endpoint_id}`)],
      [`DELETE ${path}/{id}`]: [each('2,000 deliveries', spare, (id) => `${path}/${id}`)],
      [`POST ${path}/{id}/enable`]: [small(`${path}/${endpoint_id}/enable`)],
      [`POST ${path}/{id}/test`]: [small(`${path}/${endpoint_id}/test`)],
      [`POST ${path}/{id}/secret`]: unwanted(`${path}/${endpoint_id}/secret`, 'overlap_seconds'),
      [`GET ${path}/{id}/deliveries`]: [
        get('1,000 of 2,000 with 20 attempts each', `${path}/${endpoint_id}/deliveries?${page}&offset=1000`),
      ],
      [`POST ${path}/{id}/deliveries/{delivery_id}/resend`]: [small(`${path}/${endpoint_id}/deliveries/none/resend`)],
    };
  };
  return {
    'POST /jobs': files.map(([what, content, name]) => ({ what, request: () => upload('/jobs', content, name) })),
    'GET /jobs': [get('1,000 of 4,000, the last', `/jobs?email=bench@example.com&limit=1000&offset=3000`)],
    'GET /jobs/{job_id}': [small(job)],
    'GET /jobs/{job_id}/results': [
      ...pages(`${job}/results`),
      get('non_2xx', `${job}/results?${page}&status_group=4xx`),
      redirected(`/jobs/${redirected_id}/results`),
    ],
    'GET /jobs/{job_id}/events': [small(`/jobs/${ended[0]}/events`)],
    'POST /jobs/{job_id}/pause': [small(`/jobs/${ended[0]}/pause`)],
    'POST /jobs/{job_id}/resume': [small(`/jobs/${ended[0]}/resume`)],
    'POST /jobs/{job_id}/cancel': [small(`/jobs/${ended[0]}/cancel`)],
    'DELETE /jobs/{job_id}': [each('100,000 results', large_ended, (id) => `/jobs/${id}`)],
    'POST /jobs/bulk-delete': [
      {
        what: '1,000 jobs',
        request: (n) => json('/jobs/bulk-delete', { job_ids: ended.slice(10 + n * 1000, 1010 + n * 1000) }),
      },
      ...unwanted('/jobs/bulk-delete', 'job_ids'),
    ],
    'GET /jobs/{job_id}/rejected': [get('the last page', `${job}/rejected?limit=1000&offset=1000000`)],
    'GET /jobs/{job_id}/stats': [small(`${job}/stats`)],
    'GET /jobs/{job_id}/filter-options': [small(`${job}/filter-options`)],
    'GET /jobs/{job_id}/url-list': [small(`${job}/url-list`)],
    'GET /jobs/{job_id}/export': [
      small(`${job}/export`),
      get('redirects', `/jobs/${redirected_id}/export`),
      get('XLSX, redirects', `/jobs/${redirected_id}/export?format=xlsx`),
      get('non_2xx as XLSX', `${job}/export?non_2xx=true&format=xlsx`),
      get('url_contains that none has', `${job}/export?url_contains=nowhere`),
    ],
    'GET /jobs/{job_id}/download': [get('url_contains', `${job}/download?url_contains=page/99`)],
    'GET /downloads/{job_id}': [small(made.link)],
    'POST /jobs/{job_id}/share': unwanted(`${job}/share`, 'expires_in_hours'),
    'GET /jobs/{job_id}/shares': [small(`${job}/shares?${page}`)],
    'DELETE /jobs/{job_id}/share/{token}': [each('', spare_shares, (token) => `${job}/share/${token}`)],
    'GET /share/{token}': pages(`/share/${made.share}`),
    'POST /check-domains': [
      { what: '1,000 times "a" with 2,040 dots and ":x"', request: () => json('/check-domains', { domains: dots }) },
      {
        what: '1,000 international names',
        request: () => json('/check-domains', { domains: lots(1000, (n) => `${'ü'.repeat(2000)}${n}.example`) }),
      },
      {
        what: '1,000 blocked',
        request: () => json('/check-domains', { domains: lots(1000, (n) => `${'a.'.repeat(50)}blocked${n}.example`) }),
      },
    ],
    'POST /analyze-csv': files.map(([what, content, name]) => ({
      what,
      request: () => upload('/analyze-csv', content, name),
    })),
    'GET /domains/blocked': [
      get('1,000, the last, by reason', `/domains/blocked?${page}&offset=${MAX_BLOCKED - 3000}&sort_by=reason`),
    ],
    'POST /domains/blocked': [
      { what: 'one more', request: (n) => json('/domains/blocked', { domain: `more${n}.example` }) },
      ...unwanted('/domains/blocked', 'error_codes'),
    ],
    'DELETE /domains/blocked/{domain}': [
      { what: '', request: (n) => ({ path: `/domains/blocked/blocked${n}.example` }) },
    ],
    'GET /domains/health': [
      get('1,000, the last, by time', `/domains/health?${page}&offset=98000&sort_by=avg_response_time_ms`),
    ],
    'GET /domains/breakdown': [small('/domains/breakdown?domain=www.example1.com')],
    'GET /users/me': [small('/users/me')],
    'GET /users/me/quota': [small('/users/me/quota')],
    'GET /users/me/period-usage': [small('/users/me/period-usage')],
    'GET /users/me/export': [get('4,000 jobs and 10,000 transactions', '/users/me/export')],
    'POST /users/me/fingerprint': unwanted('/users/me/fingerprint', 'os'),
    'POST /paywall-events': unwanted('/paywall-events', 'event'),
    'GET /admin/growth-dashboard': [get('ten years', '/admin/growth-dashboard?period=all')],
    'GET /admin/revenue-review': [get('ten years', '/admin/revenue-review?period=all')],
    'GET /admin/cohort-table': [small('/admin/cohort-table')],
    'GET /admin/retention-stats': [small('/admin/retention-stats')],
    'GET /admin/user-activity/{user_id}': [get('ten years', `/admin/user-activity/${filled.user_id}?period=all`)],
    'GET /admin/paywall-users': [
      get('1,000 of 100,000, the last', `/admin/paywall-users?period=all&${page}&offset=99000`),
    ],
    'POST /admin/growth-notes': unwanted('/admin/growth-notes', 'text'),
    'DELETE /admin/growth-notes/{note_id}': [small(`/admin/growth-notes/${'x'.repeat(8000)}`)],
    'GET /public-stats': [small('/public-stats')],
    'POST /admin/jobs/{job_id}/rerun': [small(`/admin${job}/rerun`)],
    'GET /admin/jobs/{job_id}/input-csv': [small(`/admin${job}/input-csv`)],
    'GET /admin/backups': [small('/admin/backups')],
    'POST /admin/backups': [small('/admin/backups')],
    'GET /admin/users': [
      get('100 of 100,000, the last, by e-mail', '/admin/users?limit=100&offset=99900&sort_by=email'),
      get('inactive, by balance', '/admin/users?limit=100&offset=40000&filter_type=inactive&sort_by=credit_balance'),
      get('a search that most match', '/admin/users?limit=100&search=gmail.com'),
      get('a search that none matches', '/admin/users?limit=100&search=nobody%20at%20all'),
      get('a search of 200 characters, each of them 18 when folded', search('\ufdfa'.repeat(200))),
      get('a search of 200 characters with four accents each', search('\u1f82'.repeat(200))),
      get('a search of 200 spaces and accents', search(' \u0301'.repeat(100))),
    ],
    'GET /admin/users/{user_id}': [get('10,000 transactions', user)],
    'PATCH /admin/users/{user_id}': unwanted(user, 'custom_limit'),
    'POST /admin/users/{user_id}/adjust-credits': unwanted(`${user}/adjust-credits`, 'reason'),
    'POST /admin/users/{user_id}/set-usage': unwanted(`${user}/set-usage`, 'reason'),
    'PATCH /admin/users/{user_id}/notes': unwanted(`${user}/notes`, 'notes'),
    'PATCH /admin/users/{user_id}/star': unwanted(`${user}/star`, 'is_starred'),
    'GET /admin/audit-trail': [get('of an administrator', `/admin/audit-trail?limit=100&admin_id=${filled.user_id}`)],
    'GET /admin/services': [small('/admin/services')],
    'GET /admin/projections': [small('/admin/projections')],
    'POST /admin/projections/{projection}/rebuild': unwanted('/admin/projections/none/rebuild', 'verify'),
    'GET /logs': [
      get('200 of 1,000,000', '/logs?page_size=200&page=3'),
      get('the last', '/logs?page_size=200&page=5000'),
      get('of a domain', '/logs?page_size=200&domain=www.example7.com'),
      get('of a domain that the log lacks', `/logs?domain=${'a.'.repeat(120)}example`),
      get('a status, an error and a job', `/logs?page_size=200&page=400&has_error=true&job_id=${job_id}`),
      get('not 2xx, the last', '/logs?page_size=200&non_2xx=true&page=2500'),
      get('200 late ones of a listing of 2,000 characters a URL', '/logs?page_size=200'),
    ],
    'GET /logs/filter-options': [get('100,000 domains', '/logs/filter-options')],
    'GET /logs/stats': [get('a month', '/logs/stats?hours=744')],
    'DELETE /logs': [
      { what: 'of a domain', request: (n) => ({ path: `/logs?domain=www.example${100 + n}.com` }) },
      { what: 'of a job, not 2xx', request: () => ({ path: `/logs?job_id=${job_id}&non_2xx=true` }) },
      get('without a filter', '/logs'),
    ],
    'DELETE /logs/{log_id}': [{ what: '', request: (n) => ({ path: `/logs/${job_id}.${5000 + n}.1` }) }],
    'POST /logs/truncate': [get('1,000,000 entries', '/logs/truncate')],
    'GET /proxies': [
      get('1,000', '/proxies?limit=1000'),
      get('a search that few match', '/proxies?limit=1000&search=proxy-99'),
    ],
    'GET /proxies/{proxy_id}/blocked-domains': [
      get('500 of names of 190 characters', `/proxies/${filled.proxy_id}/blocked-domains?limit=1000`),
    ],
    'POST /proxies/refresh': [get('without a list', '/proxies/refresh')],
    'GET /proxies/stats': [get('1,000 proxies', '/proxies/stats')],
    'GET /audit/heads': [small('/audit/heads?limit=1000')],
    'GET /audit/consistency': [small('/audit/consistency?first=5001')],
    'GET /audit/inclusion': [small('/audit/inclusion?transaction_id=none')],
    'GET /files': [get('a forged link', `/files?key=${'x'.repeat(1000)}&expires=1769853600&signature=x`)],
    'GET /admin/maintenance': [small('/admin/maintenance')],
    'POST /admin/maintenance': unwanted('/admin/maintenance', 'message'),
    'POST /agency-events': unwanted('/agency-events', 'event'),
    'POST /internal/identity-webhook': unwanted('/internal/identity-webhook', 'type'),
    'GET /credits/packages': [small('/credits/packages')],
    'GET /v2/subscription/plans': [small('/v2/subscription/plans')],
    'POST /credits/purchase': unwanted('/credits/purchase', 'package_id'),
    'POST /checkout/create': unwanted('/checkout/create', 'plan'),
    'POST /v2/subscription/checkout': unwanted('/v2/subscription/checkout', 'plan'),
    'POST /portal/create': unwanted('/portal/create', 'return_url'),
    'POST /webhooks/payment': unwanted('/webhooks/payment', 'type'),
    'GET /sandbox/checkout/{session_id}': [small(`/sandbox/checkout/${'x'.repeat(8000)}`)],
    'POST /sandbox/checkout/{session_id}/pay': [small(`/sandbox/checkout/${'x'.repeat(8000)}/pay`)],
    'POST /sandbox/checkout/{session_id}/decline': [small(`/sandbox/checkout/${'x'.repeat(8000)}/decline`)],
    'GET /sandbox/portal/{session_id}': [small(`/sandbox/portal/${'x'.repeat(8000)}`)],
    'POST /sandbox/portal/{session_id}/{action}': [small(`/sandbox/portal/${'x'.repeat(8000)}/refund`)],
    'GET /checkouts/{outcome}': [small('/checkouts/done')],
    'GET /users/me/credits': [small('/users/me/credits')],
    'PUT /users/me/spending-limit': unwanted('/users/me/spending-limit', 'limit'),
    'GET /users/me/credit-mails': [small('/users/me/credit-mails')],
    'PUT /users/me/credit-mails': unwanted('/users/me/credit-mails', 'low_balance'),
    'GET /users/me/payments': [get('1,000, of none', `/users/me/payments?${page}`)],
    'GET /users/me/payments/{payment_id}/document': [get('one that is not there', '/users/me/payments/in_0/document')],
    'GET /users/me/credit-transactions': [
      get('1,000 of 10,000, the last', `/users/me/credit-transactions?${page}&offset=9000`),
    ],
    'POST /users/me/api-keys': unwanted('/users/me/api-keys', 'name'),
    'GET /users/me/api-keys': [small('/users/me/api-keys')],
    'DELETE /users/me/api-keys/{id}': [each('', spare_keys, (id) => `/users/me/api-keys/${id}`)],
    'POST /api/v2/jobs': lists('/api/v2/jobs'),
    'POST /api/v2/jobs/wait': lists('/api/v2/jobs/wait').map(({ what, request }) => ({
      what,
      request: (n) => ({ ...request(n), path: '/api/v2/jobs/wait?wait_seconds=0' }),
    })),
    'GET /api/v2/jobs': [
      get('1,000 of 4,000', '/api/v2/jobs?limit=1000'),
      get('of a status', '/api/v2/jobs?limit=1000&status=failed'),
    ],
    'GET /api/v2/jobs/{id}': [small(`/api/v2${job}`)],
    'GET /api/v2/jobs/{id}/results': [
      ...pages(`/api/v2${job}/results`),
      get('by cursor', `/api/v2${job}/results?${page}&cursor=`),
      redirected(`/api/v2/jobs/${redirected_id}/results`),
    ],
    'DELETE /api/v2/jobs/{id}': [each('', ended.slice(-5), (id) => `/api/v2/jobs/${id}`)],
    'GET /api/v2/usage': [small('/api/v2/usage')],
    ...webhooks('/api/v2', spare_endpoints.slice(0, spare_endpoints.length / 2)),
    ...webhooks('', spare_endpoints.slice(spare_endpoints.length / 2)),
    'GET /jobs/{job_id}/changes': [
      get('the largest job against a small one', `${job}/changes?limit=1000&since=${redirected_id}`),
    ],
    'GET /console/{area}': [small('/console/users')],
    'GET /console/{area}/{item}': [small(`/console${job}`)],
    'GET /console/{area}/{item}/{part}': [small(`/console${job}/results`)],
    'GET /console/assets/{file}': [small('/console/assets/none.js')],
    'POST /console/session': unwanted('/console/session', 'token'),
    'DELETE /console/session': [small('/console/session')],
    'GET /console/provider/sign-in': [small('/console/provider/sign-in')],
    'GET /console/provider/return': [small(`/console/provider/return?code=${'x'.repeat(2000)}&state=x`)],
    'GET /healthz': [small('/healthz')],
    'GET /readyz': [small('/readyz')],
    'GET /metrics': [small('/metrics')],
    'GET /': [small('/')],
    'GET /docs': [small('/docs')],
    'GET /docs/{file}': [small('/docs/swagger-ui-bundle.js')],
    'GET /openapi.json': [small('/openapi.json')],
    'GET /api/v2/openapi.json': [small('/api/v2/openapi.json')],
  };
}

async function workbook(rows: number): Promise<Buffer> {
  async function* documents(): AsyncGenerator<(ResultDocument & Place)[]> {
    for (let n = 0; n < rows; n++) {
      const result: ResultDocument = {
        ...{ _id: '', job_id: '', index: n, url: urlAt(n), final_url: null, is_broken: false, is_soft_404: false },
        ...{ status_code: 200, redirect_chain: [], response_time_ms: 1, error_code: null, content_type: null },
        ...{ verdict: 'ok', protection: null, attempts: 1 },
      };
      yield [{ ...result, row: null, cell: null }];
    }
  }
  return Buffer.concat((await Array.fromAsync(xlsxOf(resultsTable(documents())))).map((piece) => Buffer.from(piece)));
}
