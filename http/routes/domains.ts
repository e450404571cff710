// The administrators' blocklist, and how the domains that were checked are doing.

import { MAX_BLOCKED, openBlocklistCommands } from '../../commands/blocklist.ts';
import { Type } from '../../events/schema.ts';
import { INVALID_REASONS } from '../../intake/classify-url.ts';
import { parseDomain } from '../../intake/domain.ts';
import { BLOCKED_DOMAIN_SORTS, blockedDomains, blockedDomainsPage } from '../../readmodels/blocked-domains.ts';
import { DOMAIN_SORTS, domainHealth, domainHealthPage } from '../../readmodels/domain-health.ts';
import { GATEWAY } from '../apis/gateway.ts';
import {
  BlockedDomainView,
  blockExample,
  blockedDomainExample,
  blockedDomainView,
  DomainBreakdownView,
  DomainHealthView,
  domainBreakdownExample,
  domainBreakdownView,
  domainHealthExample,
  domainHealthView,
} from '../domain-view.ts';
import { accepted, HttpError, ValidationError } from '../errors.ts';
import { groupOf, type Parts } from '../group.ts';
import { listOf, listReply } from '../list-replies.ts';
import { paging } from '../result-view.ts';
import { anError, jsonBody, routeOf } from '../route.ts';

const wire = ({ log, blocklist, read }: Parts) => ({
  commands: openBlocklistCommands(log),
  blocklist,
  read: read({ blockedDomains, domainHealth }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY);
const tags = ['domains'];
const sort_order = Type.Enum(['asc', 'desc'], { type: 'string', default: 'desc', description: 'Up or down.' });

export const listBlocked = route({
  method: 'GET',
  path: '/domains/blocked',
  access: 'admin',
  summary: 'The blocklist',
  tags,
  query: Type.Object({
    ...paging(50),
    sort_by: Type.Enum(BLOCKED_DOMAIN_SORTS, {
      type: 'string',
      default: 'added_at',
      description: 'By what they are ordered.',
    }),
    sort_order,
  }),
  responses: {
    200: listOf('A page of blocked domains.', BlockedDomainView, blockedDomainExample, 50),
  },
  async handler({ query }, { read }) {
    return listReply(await blockedDomainsPage(read.blockedDomains, query), blockedDomainView, query);
  },
});

const Word = (options: { default?: string; description?: string } = {}) =>
  Type.String({ minLength: 1, maxLength: 50, pattern: '^\\S+$', ...options });

export const block = route({
  method: 'POST',
  path: '/domains/blocked',
  access: 'admin',
  summary: 'Put a domain on the blocklist, or update its entry',
  description:
    'The domain may be written in any case or script, with a port, or as a URL; it blocks whatever is under it too. Uploads ' +
    'that begin after the answer leave its URLs out; jobs that are there go on.',
  tags,
  body: jsonBody(
    Type.Object({
      domain: Type.String({ minLength: 1, maxLength: 2048 }),
      reason: Type.String({ minLength: 1, maxLength: 500, default: 'The domain refuses automated checks.' }),
      block_type: Word({ default: 'other', description: 'A word for programs, such as `legal`.' }),
      error_codes: Type.Array(Word(), { maxItems: 50, default: [], description: 'What its URLs come back with.' }),
    }),
    { example: blockExample },
  ),
  responses: {
    201: { description: 'The new entry.', schema: BlockedDomainView, example: blockedDomainExample },
    200: {
      description: 'The entry of a domain that was on the list already, as it is now.',
      schema: BlockedDomainView,
      example: blockedDomainExample,
    },
  },
  errors: {
    409: anError(
      `There are ${MAX_BLOCKED} domains on the list.`,
      'blocklist_full',
      `There are ${MAX_BLOCKED} domains on the list; remove some.`,
    ),
    422: 'It is no domain, or the request is not valid.',
  },
  async handler(request, { commands }) {
    const said = { ...request.body, domain: domainToBlock(request.body.domain) };
    const blocked = accepted(await commands.block(said, request.command()), 409);
    const { added_at, is_new, position } = blocked;
    return { status: is_new ? 201 : 200, body: { ...said, added_at }, position };
  },
});

/** A whole top-level domain is refused: it would block a part of the internet for a slip of the hand. */
function domainToBlock(written: string): string {
  const parsed = parseDomain(written);
  const refuse = (msg: string, type: string): never => {
    throw new ValidationError([{ loc: ['body', 'domain'], msg, type }]);
  };
  if ('reason' in parsed) return refuse(INVALID_REASONS[parsed.reason], parsed.reason);
  const { domain } = parsed;
  const is_name = !domain.startsWith('[');
  if (is_name && !domain.includes('.')) return refuse('is a top-level domain, with all that is under it', 'too_broad');
  return domain;
}

/** What was blocked or checked can be asked about, whatever is taken for a domain today. */
function domainAskedFor(written: string): string {
  const parsed = parseDomain(written);
  return 'domain' in parsed ? parsed.domain : written.toLowerCase();
}

export const unblock = route({
  method: 'DELETE',
  path: '/domains/blocked/{domain}',
  access: 'admin',
  summary: 'Take a domain off the blocklist',
  tags,
  params: Type.Object({ domain: Type.String({ minLength: 1, maxLength: 300 }) }),
  responses: {
    200: {
      description: 'It is off the list.',
      schema: Type.Object({ removed: Type.Literal(true), domain: Type.String() }),
      example: { removed: true, domain: 'example.com' },
    },
  },
  errors: {
    404: anError(
      'The domain is not on the list; one that it is under may be.',
      'domain_not_blocked',
      'This domain is not on the blocklist.',
    ),
  },
  async handler(request, { commands }) {
    const domain = domainAskedFor(request.params.domain);
    const unblocked = accepted(await commands.unblock(domain, request.command()), 404);
    return { body: { removed: true, domain }, position: unblocked.position };
  },
});

export const health = route({
  method: 'GET',
  path: '/domains/health',
  access: 'admin',
  summary: 'How the checked domains are doing, over all jobs',
  tags,
  query: Type.Object({
    ...paging(50),
    sort_by: Type.Enum(DOMAIN_SORTS, {
      type: 'string',
      default: 'failure_rate',
      description: 'Of equal failure rates, the one with more checks comes first in descending order.',
    }),
    sort_order,
    min_checks: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      default: 10,
      description: 'Domains with fewer checks are left out.',
    }),
  }),
  responses: {
    200: listOf('A page of domains.', DomainHealthView, domainHealthExample, 50),
  },
  async handler({ query }, { read, blocklist }) {
    const [page, { blocked_domain_of }] = await Promise.all([
      domainHealthPage(read.domainHealth, query),
      blocklist.current(),
    ]);
    return listReply(page, (item) => domainHealthView(item, blocked_domain_of(item._id) !== null), query);
  },
});

export const breakdown = route({
  method: 'GET',
  path: '/domains/breakdown',
  access: 'admin',
  summary: 'What the checks of a domain came back with',
  tags,
  query: Type.Object({
    domain: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'A host; those under it are not counted in.',
      examples: ['www.example.com'],
    }),
  }),
  responses: {
    200: { description: 'Its checks.', schema: DomainBreakdownView, example: domainBreakdownExample },
  },
  errors: {
    404: anError(
      'No URL of the domain was ever checked.',
      'domain_not_found',
      'No URL of this domain was ever checked.',
    ),
  },
  async handler({ query }, { read, blocklist }) {
    const domain = domainAskedFor(query.domain);
    const document = await read.domainHealth.get(domain);
    if (!document) throw new HttpError(404, 'domain_not_found', 'No URL of this domain was ever checked.');
    const { blocked_domain_of } = await blocklist.current();
    return { body: domainBreakdownView(document, blocked_domain_of(domain) !== null) };
  },
});

export const group = groupOf(wire, [listBlocked, block, unblock, health, breakdown]);
