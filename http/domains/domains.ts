// The administrators' routes for the blocklist and for the health of checked domains.

import { BLOCKLIST_FULL, MAX_BLOCKED, openBlocklistCommands } from '../../commands/blocklist.ts';
import { inWords, Type } from '../../events/schema.ts';
import { INVALID_REASONS } from '../../intake/classify-url.ts';
import { parseDomain } from '../../intake/domain.ts';
import {
  BLOCKED_DOMAIN_SORTS,
  type BlockedDomainDocument,
  blockedDomains,
  blockedDomainsPage,
} from '../../readmodels/blocked-domains.ts';
import { DOMAIN_SORTS, domainHealth, domainHealthPage } from '../../readmodels/domain-health.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { accepted, HttpError, ValidationError } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { anError, asThrown, routeOf } from '../frame/route.ts';
import { listOf, listReply } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
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
} from './domain-view.ts';

const wire = ({ log, blocklist, read, passed }: Parts) => ({
  ...{ log, passed },
  commands: openBlocklistCommands(log),
  blocklist,
  read: read({ blockedDomains, domainHealth }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'domains');
const sort_order = Type.Enum(['asc', 'desc'], {
  type: 'string',
  default: 'desc',
  description: 'Ascending or descending.',
});

const listBlocked = route({
  id: 'listBlockedDomains',
  method: 'GET',
  path: '/domains/blocked',
  access: 'admin',
  summary: 'List the blocklist',
  query: Type.Object({
    ...paging(50),
    sort_by: Type.Enum(BLOCKED_DOMAIN_SORTS, {
      type: 'string',
      default: 'added_at',
      description: 'The field that orders the list.',
    }),
    sort_order,
  }),
  responses: {
    200: listOf('A page of blocklisted domains.', BlockedDomainView, blockedDomainExample, 50),
  },
  async handler({ query }, { read }) {
    return listReply(await blockedDomainsPage(read.blockedDomains, query), blockedDomainView, query);
  },
});

const Word = (options: { default?: string; description?: string } = {}) =>
  Type.String({ minLength: 1, maxLength: 50, pattern: inWords('^\\S+$', 'must have no spaces'), ...options });

/** What an entry says unless its first request says otherwise. */
const NEW_ENTRY: Pick<BlockedDomainDocument, 'reason' | 'block_type' | 'error_codes'> = {
  reason: 'The domain refuses automated checks.',
  block_type: 'other',
  error_codes: [],
};

const block = route({
  id: 'blockDomain',
  makes: true,
  method: 'POST',
  path: '/domains/blocked',
  access: 'admin',
  summary: 'Put a domain on the blocklist, or update its entry',
  description:
    'You may write the domain in any case or script, with a port, or as a URL. The entry also blocks all its subdomains: one ' +
    'of `co.uk` blocks all domains under it. An entry keeps what the request does not name. Uploads that begin after the answer leave its URLs out; existing jobs continue.',
  body: jsonBody(
    Type.Object({
      domain: Type.String({ minLength: 1, maxLength: 2048 }),
      reason: Type.Optional(
        Type.String({ minLength: 1, maxLength: 500, description: `For a new entry: ${NEW_ENTRY.reason}` }),
      ),
      block_type: Type.Optional(
        Word({ description: 'A code for programs, such as `legal`. For a new entry: `other`.' }),
      ),
      error_codes: Type.Optional(
        Type.Array(Word(), { maxItems: 50, description: 'The errors that its URLs return. For a new entry: none.' }),
      ),
    }),
    { example: blockExample },
  ),
  responses: {
    201: { description: 'The new entry.', schema: BlockedDomainView, example: blockedDomainExample },
    200: {
      description: 'The updated entry of a domain that was on the list already.',
      schema: BlockedDomainView,
      example: blockedDomainExample,
    },
  },
  errors: {
    409: asThrown(`The list has ${MAX_BLOCKED} domains already.`, BLOCKLIST_FULL),
    422: 'The text is no domain, or the request is not valid.',
  },
  async handler(request, { commands, read, log, passed }) {
    const domain = domainToBlock(request.body.domain);
    // What an earlier request wrote a moment ago is kept too.
    await passed(await log.head());
    const { reason, block_type, error_codes } = (await read.blockedDomains.get(domain)) ?? NEW_ENTRY;
    const said = { ...{ reason, block_type, error_codes }, ...request.body, domain };
    const blocked = accepted(await commands.block(said, request.command()), 409);
    const { added_at, is_new, position } = blocked;
    return { status: is_new ? 201 : 200, body: { ...said, added_at }, position };
  },
});

/** Refuses a top-level domain, because a slip of the hand would block a part of the internet. */
function domainToBlock(written: string): string {
  const parsed = parseDomain(written);
  const refuse = (msg: string, type: string): never => {
    throw new ValidationError([{ loc: ['body', 'domain'], msg, type }]);
  };
  if ('reason' in parsed) return refuse(INVALID_REASONS[parsed.reason], parsed.reason);
  const { domain } = parsed;
  const is_name = !domain.startsWith('[');
  if (is_name && !domain.includes('.'))
    return refuse('is a top-level domain, which would block every domain under it', 'too_broad');
  return domain;
}

/** Keeps a text that `parseDomain` refuses, so that entries of earlier versions can be found. */
function domainAskedFor(written: string): string {
  const parsed = parseDomain(written);
  return 'domain' in parsed ? parsed.domain : written.toLowerCase();
}

const unblock = route({
  id: 'unblockDomain',
  method: 'DELETE',
  path: '/domains/blocked/{domain}',
  access: 'admin',
  summary: 'Take a domain off the blocklist',
  params: Type.Object({ domain: Type.String({ minLength: 1, maxLength: 300 }) }),
  responses: {
    200: {
      description: 'The list no longer has the domain.',
      schema: Type.Object({ removed: Type.Literal(true), domain: Type.String() }),
      example: { removed: true, domain: 'example.com' },
    },
  },
  errors: {
    404: anError(
      'The domain is not on the list. A domain above it may be.',
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

const health = route({
  id: 'listDomainHealth',
  method: 'GET',
  path: '/domains/health',
  access: 'admin',
  summary: 'List the health of checked domains, over all jobs',
  query: Type.Object({
    ...paging(50),
    sort_by: Type.Enum(DOMAIN_SORTS, {
      type: 'string',
      default: 'failure_rate',
      description:
        'The field that orders the list. At equal failure rates the number of checks decides; a domain without a response time comes last.',
    }),
    sort_order,
    min_checks: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      default: 10,
      description: 'The list leaves out domains with fewer checks.',
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

const NEVER_CHECKED = 'The service has never checked a URL of this domain.';

const breakdown = route({
  id: 'getDomainBreakdown',
  method: 'GET',
  path: '/domains/breakdown',
  access: 'admin',
  summary: 'Show the outcomes of the checks of a domain',
  query: Type.Object({
    domain: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'A host. Its subdomains do not count.',
      examples: ['www.example.com'],
    }),
  }),
  responses: {
    200: { description: 'The outcomes.', schema: DomainBreakdownView, example: domainBreakdownExample },
  },
  errors: {
    404: anError('The service has never checked a URL of the domain.', 'domain_not_found', NEVER_CHECKED),
  },
  async handler({ query }, { read, blocklist }) {
    const domain = domainAskedFor(query.domain);
    const document = await read.domainHealth.get(domain);
    if (!document) throw new HttpError(404, 'domain_not_found', NEVER_CHECKED);
    const { blocked_domain_of } = await blocklist.current();
    return { body: domainBreakdownView(document, blocked_domain_of(domain) !== null) };
  },
});

export const group = groupOf(wire, [listBlocked, block, unblock, health, breakdown]);
