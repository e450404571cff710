// Signs browsers in at an OpenID provider: the code flow with PKCE, by openid-client. The access token says who the user is, by the
// same rules as the tokens of other callers.
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Configuration } from 'openid-client';
import type { Identity, PendingSignIn, SignInProvider } from '../../http/callers/identity.ts';
import { IdentityUnavailable } from './tokens.ts';

/** How long one request to the provider may take, in seconds. */
const TIMEOUT_S = 5;

export interface ClientOptions {
  issuer: string;
  audience: string;
  client_id: string;
  /** Null for a public client. */
  client_secret: string | null;
  scope: string;
}

export function openProvider(options: ClientOptions, { verify }: Pick<Identity, 'verify'>): SignInProvider {
  const { issuer, audience, client_id, client_secret, scope } = options;
  let discovered: Promise<Configuration> | null = null;

  /** The library is loaded, and the provider asked what it can, at the first sign-in. */
  async function open() {
    const openid = await import('openid-client');
    const insecure = issuer.startsWith('http:') ? { execute: [openid.allowInsecureRequests] } : {};
    discovered ??= openid
      .discovery(new URL(issuer), client_id, client_secret ?? undefined, undefined, { timeout: TIMEOUT_S, ...insecure })
      .catch((cause: unknown) => {
        discovered = null;
        throw unavailable(cause);
      });
    return { openid, config: await discovered };
  }
  return {
    async begin(redirect_uri) {
      const { openid, config } = await open();
      const pending: PendingSignIn = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        verifier: openid.randomPKCECodeVerifier(),
      };
      const url = openid.buildAuthorizationUrl(config, {
        ...{ redirect_uri, scope, state: pending.state, nonce: pending.nonce },
        code_challenge: await openid.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
        // Auth0's name for what the token is for; others do not know it, and ignore it.
        audience,
        // That of RFC 8707, which wants a URL.
        ...(URL.canParse(audience) && { resource: audience }),
      });
      return { url: url.href, pending };
    },
    async finish(returned, { state, nonce, verifier }) {
      const { openid, config } = await open();
      try {
        const { access_token } = await openid.authorizationCodeGrant(config, returned, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        });
        const user = await verify(access_token);
        return user ? { user, expires_s: decodeJwt(access_token).exp! } : refusedFor(faultOf(access_token, options));
      } catch (error) {
        if (isRefusal(error, openid)) return refusedFor(wordsOf(error as Refusal));
        throw unavailable(error);
      }
    },
  };
}

type Refusal = Error & { error?: string; error_description?: string };
/** What an answer of the provider, or an address that a stranger wrote, adds to the log. */
const MAX_REASON_CHARS = 500;

const refusedFor = (reason: string) => ({ refused: reason.slice(0, MAX_REASON_CHARS) });

const wordsOf = ({ message, error, error_description }: Refusal) =>
  [message, error, error_description].filter((part) => part !== undefined).join(': ');

/** Why the service does not take the token: most often a setting here or there. */
function faultOf(token: string, { issuer, audience }: ClientOptions): string {
  try {
    const { iss, aud } = decodeJwt(token);
    if (iss !== issuer) return `the access token has the issuer ${iss}, and IDENTITY_ISSUER is ${issuer}`;
    if (![aud].flat().includes(audience)) {
      return `the access token has the audience ${aud ?? 'null'}, and IDENTITY_AUDIENCE is ${audience}`;
    }
    const { alg } = decodeProtectedHeader(token);
    return `the access token, signed with ${alg}, has a wrong signature, time or user id`;
  } catch {
    return 'the access token is not a JWT';
  }
}

const unavailable = (cause: unknown) => new IdentityUnavailable('the identity provider cannot be asked', { cause });

/** What the provider or the answer itself says no to; the rest means that the provider could not be asked. */
function isRefusal(error: unknown, openid: typeof import('openid-client')): boolean {
  return (
    error instanceof openid.AuthorizationResponseError ||
    error instanceof openid.ResponseBodyError ||
    (error instanceof openid.ClientError && error.code !== 'OAUTH_TIMEOUT' && !isOfServer(error.cause))
  );
}

/** An answer of a server that fails, or of a gateway before it. */
const isOfServer = (cause: unknown) => cause instanceof Response && cause.status >= 500;
