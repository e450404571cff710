// Signed links work without credentials until they expire. Only holders of the secret can make one.

import { createHmac } from 'node:crypto';
import { derivedSecretKey } from '../../events/derived-key.ts';
import { inWords, Type } from '../../events/schema.ts';
import { HttpError } from './errors.ts';
import { anError, type RouteRequest } from './route.ts';
import { sameText } from './same-text.ts';

const LIFETIME_MS = 3_600_000;

export type SignedLinks = ReturnType<typeof openSignedLinks>;

export function openSignedLinks(options: { secret: Uint8Array; base_url: () => string; now: () => number }) {
  const { base_url, now } = options;
  const key = derivedSecretKey(options.secret, 'links');
  /** The HMAC-SHA256 of the path and the other parameters, `expires` included, in the order of their names. */
  function signatureOf(path: string, query: URLSearchParams): string {
    const signed = new URLSearchParams(query);
    signed.delete('signature');
    signed.sort();
    return createHmac('sha256', key).update(`${path}?${signed}`).digest('base64url');
  }
  return {
    /** Returns a URL of this service that is valid until `until` (Unix milliseconds). `expires_at` is ISO 8601. */
    sign(
      path: string,
      query: Readonly<Record<string, string | number | boolean | undefined>>,
      until = now() + LIFETIME_MS,
    ) {
      const expires_s = Math.floor(until / 1000);
      const parameters = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
      parameters.set('expires', String(expires_s));
      parameters.set('signature', signatureOf(path, parameters));
      return { url: `${base_url()}${path}?${parameters}`, expires_at: new Date(expires_s * 1000).toISOString() };
    },
    /** `path` and `search` are those of the request, undecoded. A changed link is `forged` even after its expiry. */
    verify(path: string, search: string): 'valid' | 'expired' | 'forged' {
      const query = new URLSearchParams(search);
      const given = query.getAll('signature');
      if (given.length !== 1 || !sameText(given[0]!, signatureOf(path, query))) return 'forged';
      return Number(query.get('expires')) * 1000 > now() ? 'valid' : 'expired';
    },
  };
}

/** The query parameters that `sign` adds. */
export const linkParameters = {
  expires: Type.String({
    pattern: inWords('^[0-9]{1,12}$', 'must be a number of seconds'),
    description: 'Seconds since 1970.',
    examples: ['1769853600'],
  }),
  signature: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'The signature of the path and the other parameters.',
    examples: ['sgQtxHzWenOlm7n0Yc2mXw'],
  }),
};

const LINK_INVALID = 'This link is not valid.';
const LINK_EXPIRED = 'This link has expired. Create a new one.';

/** The errors of `assertValid`. */
export const linkErrors = {
  403: anError('The service did not create this link.', 'link_invalid', LINK_INVALID),
  410: anError('The link has expired.', 'link_expired', LINK_EXPIRED),
};

/** Throws HttpError for a request whose URL the service did not sign, or no longer honours. */
export function assertValid({ verify }: Pick<SignedLinks, 'verify'>, { ctx }: Pick<RouteRequest, 'ctx'>): void {
  const link = verify(ctx.path, ctx.querystring);
  if (link === 'forged') throw new HttpError(403, 'link_invalid', LINK_INVALID);
  if (link === 'expired') throw new HttpError(410, 'link_expired', LINK_EXPIRED);
}
