// The table of routes for operators and auditors: who may ask, how often, how large a request is, and what an unread answer costs.
//   node test/support/routes-table.ts    writes docs/routes.md
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Route } from '../../http/frame/route.ts';
import { SERVED_ROUTES } from './documents.ts';

export const ROUTES_TABLE = fileURLToPath(new URL('../../docs/routes.md', import.meta.url));

const WHO: Readonly<Record<Route['access'], string>> = {
  none: 'everybody',
  user: 'a user',
  owner: 'the owner',
  'owner-or-admin': 'the owner, an administrator',
  admin: 'an administrator',
  signature: 'who signs',
  'shared-secret': 'who knows the secret',
};

const HEAD = `# Routes, and what each may take

This table is for whoever puts the service before the public. It is made from the routes by \`node test/support/routes-table.ts\`, and a test holds it to them.

**How often.** \`address\`: \`ADDRESS_LIMIT_PER_MINUTE\`. \`user\`: that, and \`USER_LIMIT_PER_MINUTE\`. \`change\`: both, and \`USER_CHANGES_PER_MINUTE\`. \`key\`: \`RATE_LIMIT_PER_MINUTE\` and
\`RATE_LIMIT_PER_DAY\`, for a GET \`RATE_LIMIT_READS_PER_MINUTE\`; without a valid key of an address. A number is a tighter limit of the route. Large requests also take turns:
\`HEAVY_REQUESTS_PER_CALLER\`, \`HEAVY_REQUESTS_AT_ONCE\`.

**How large.** The most bytes of a body; a request has at most 16 KiB of headers. Bodies of webhooks have 16 MiB in all and 4 MiB for an address.

**An unread answer** costs what waits in its socket: \`whole\`, the answer, at most 1 MiB of JSON, beyond which it is a stream; \`stream\`, a page of rows and 64 KiB;
\`events\`, the latest event, and one of the places of \`MAX_EVENT_STREAMS\`. All that waits unread is bounded by \`MAX_UNREAD_BYTES\`, half of it for one address, and after 10 s
without a byte taken the client is cut off.

| route | who | how often | how large | unread |
|---|---|---|---|---|
`;

const often = ({ api, access, method, quiet }: Route<never>) => {
  if (quiet) return 'no limit';
  if (api.credentials !== 'token') return 'key';
  if (access === 'none' || access === 'signature' || access === 'shared-secret') return 'address';
  return method === 'GET' ? 'user' : 'change';
};

/** The limit of the route itself, as its 429 says. */
function own({ errors, lasting }: Route<never>): string {
  if (lasting) return ', places of `EVENT_STREAMS_PER_USER` and `EVENT_STREAMS_PER_ADDRESS`';
  const [, subject, most] =
    /"([^"]+) may send ([\d,]+) requests a minute/.exec(JSON.stringify(errors?.[429] ?? '')) ?? [];
  return subject === undefined ? '' : `, ${subject.toLowerCase()} ${most} a minute`;
}

const large = ({ body }: Route<never>) => {
  if (body === null) return '';
  return body.kind === 'file' ? '`MAX_FILE_BYTES`' : `${Math.round(body.limit_bytes / 1024).toLocaleString('en')} KiB`;
};

function unread({ lasting, responses }: Route<never>): string {
  if (lasting) return 'events';
  const { content_type, schema } = responses[200] ?? {};
  return schema !== undefined && content_type !== undefined && !content_type.startsWith('text/html')
    ? 'stream'
    : 'whole';
}

/** The text of docs/routes.md. */
export function routesTable(): string {
  const rows = SERVED_ROUTES.map((route) => {
    const heavy = route.heavy === false ? '' : ', large';
    const cells = [
      `\`${route.method} ${route.path}\``,
      WHO[route.access],
      often(route) + heavy + own(route),
      large(route),
      unread(route),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return `${HEAD}${rows.sort().join('\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(ROUTES_TABLE, routesTable());
