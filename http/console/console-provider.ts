// Signs browsers in at the identity provider: there, and back with a code.
import { inWords, Type } from '../../events/schema.ts';
import { storeFaultOf } from '../../events/store-faults.ts';
import { GATEWAY } from '../apis/gateway.ts';
import type { PendingSignIn, SignInProvider } from '../callers/identity.ts';
import { openSignedCookie } from '../callers/signed-cookie.ts';
import { leadOn } from '../frame/answers/leading-page.ts';
import { HttpError } from '../frame/errors.ts';
import { openRequestLimit, overLimit } from '../frame/limits/request-limit.ts';
import { anError, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';

/** How long the user may take to sign in there. */
const PENDING_S = 600;
/** How long a session lasts at most. An administrator's ends with the token that gave the role. */
const SESSION_S = 86_400;
const SUBJECT = 'An address';
const MOST_A_MINUTE = 30;

function wire({ identity, sessions, rates, keys, config, logger, public_url }: Parts) {
  const { pathname, protocol } = new URL(config.public_url);
  const path = `${pathname.replace(/\/$/, '')}/console/provider`;
  return {
    provider: identity.provider ?? null,
    sessions,
    logger,
    console_url: () => `${public_url()}/console`,
    // The provider's page leads back here, so that the cookie has to come along from another site.
    cookie: openSignedCookie({
      ...{ name: 'sign-in', secret: keys.links, path },
      ...{ same_site: 'Lax', https: protocol === 'https:' },
    }),
    limit: openRequestLimit(rates, { name: 'provider-sign-ins', subject: SUBJECT, most: MOST_A_MINUTE }),
  };
}
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'console');

const NO_PROVIDER = 'This service has no client at an identity provider: see IDENTITY_CLIENT_ID.';
const leading = {
  200: {
    description: 'A page without scripts that leads on at once.',
    content_type: 'text/html; charset=utf-8',
    schema: Type.String(),
    example: '<!doctype html>',
    headers: { 'Set-Cookie': 'What the browser keeps.' },
  },
};
const errors = {
  404: anError('The service has no client at an identity provider.', 'no_provider', NO_PROVIDER),
  429: overLimit(SUBJECT, MOST_A_MINUTE),
};

/** A page of the console, below `/console`, as addresses are written: a cookie of 4,096 bytes has room for 2,000 such characters. */
const Next = Type.Optional(
  Type.String({
    maxLength: 2000,
    pattern: inWords('^(/[!-.0-[\\]-~][!-~]*)?$', 'must be a path of the console'),
    description: 'The page of the console to show after it.',
    examples: ['/jobs?status=paused'],
  }),
);

export const begin = route({
  id: 'beginProviderSignIn',
  method: 'GET',
  path: '/console/provider/sign-in',
  access: 'none',
  summary: 'Lead a browser to the identity provider',
  query: Type.Object({ next: Next }),
  responses: leading,
  errors,
  async handler({ query, ip, request_id }, deps) {
    const provider = providerOf(deps);
    await deps.limit.admitAddress(ip);
    const begun = await unlessAway(provider.begin(`${deps.console_url()}/provider/return`), deps, request_id);
    if (begun === 'away') return backToSignIn('away', deps, request_id);
    const { url, pending } = begun;
    const cookie = await deps.cookie.made({ ...pending, next: query.next }, PENDING_S, Date.now());
    return leadOn(url, cookie);
  },
});

export const finish = route({
  id: 'finishProviderSignIn',
  method: 'GET',
  path: '/console/provider/return',
  access: 'none',
  summary: 'Take a browser back from the identity provider',
  description: 'The code in the query is worth nothing without the cookie that the sign-in began with, and works once.',
  query: Type.Object({}, { additionalProperties: true }),
  responses: leading,
  errors,
  async handler({ ctx, ip, command, request_id }, deps) {
    const provider = providerOf(deps);
    await deps.limit.admitAddress(ip);
    const { console_url, cookie, sessions } = deps;
    const pending = (await cookie.read(ctx.get('cookie'))) as (PendingSignIn & { next?: string }) | null;
    const returned = new URL(`${console_url()}/provider/return?${ctx.querystring}`);
    if (!pending) return refuse('this browser began no sign-in in the last ten minutes', deps, request_id);
    const signed_in = await unlessAway(provider.finish(returned, pending), deps, request_id);
    if (signed_in === 'away') return backToSignIn('away', deps, request_id);
    if ('refused' in signed_in) return refuse(signed_in.refused, deps, request_id);
    const context = command();
    const { user, expires_s } = signed_in;
    const token_s = Math.max(1, expires_s - Math.floor(context.now / 1000));
    const lasts_s = user.is_admin ? Math.min(SESSION_S, token_s) : SESSION_S;
    const session = await sessions.begin({ id: pending.state, user, lasts_s }, context);
    return leadOn(`${console_url()}${pending.next || '/jobs'}`, session);
  },
});

/** A person navigates here, whom the 503 of other routes would tell nothing. */
async function unlessAway<Answer>(
  asked: Promise<Answer>,
  { logger }: Deps,
  request_id: string,
): Promise<Answer | 'away'> {
  try {
    return await asked;
  } catch (error) {
    if (storeFaultOf(error) !== 'unavailable') throw error;
    logger.warn({ err: error, request_id }, 'the identity provider cannot be asked');
    return 'away';
  }
}

/** The cookie stays: it may be that of a sign-in in another tab. */
function refuse(reason: string, deps: Deps, request_id: string) {
  deps.logger.warn({ request_id, reason }, 'a sign-in at the identity provider failed');
  return backToSignIn('failed', deps, request_id);
}

const backToSignIn = (why: 'away' | 'failed', { console_url }: Deps, request_id: string) =>
  leadOn(`${console_url()}/sign-in?${why}=${encodeURIComponent(request_id)}`);

function providerOf({ provider }: Deps): SignInProvider {
  if (provider) return provider;
  throw new HttpError(404, 'no_provider', NO_PROVIDER);
}

export const group = groupOf(wire, [begin, finish]);
