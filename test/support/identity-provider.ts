// A real OpenID provider on a port of its own: it signs users in with a form, and signs their tokens with keys that it can rotate.
import { createServer, type Server } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';
import { CookieJar } from 'tough-cookie';
import { freePort, listenOn } from './free-port.ts';
import { closeHttp } from './loopback.ts';

export const AUDIENCE = 'url-checker';
export const CLIENT = { client_id: 'console', client_secret: 'a-secret-of-the-console' };
const REDIRECT_URI = 'http://127.0.0.1:9/signed-in';

export interface TestProvider {
  issuer: string;
  jwks_url: string;
  /** The keys that it signs with, the private halves included. */
  keys(): JWK[];
  /** Signs a user in, as a browser does, and returns the access token. The claims are those of the token. */
  signIn(user_id: string, claims?: Record<string, unknown>): Promise<string>;
  /** Sets the claims of a user's tokens, before they sign in by themselves. */
  know(user_id: string, claims?: Record<string, unknown>): void;
  /** Goes on with a new key. */
  rotate(): Promise<void>;
  /** Closes the port; `start` opens it again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** `redirect_uri`: where the console's client may lead back to. */
export async function startProvider(
  alg: 'RS256' | 'ES256' = 'RS256',
  redirect_uri = REDIRECT_URI,
): Promise<TestProvider> {
  let server: Server = createServer();
  let keys = [await newKey(alg)];
  const claims_of = new Map<string, Record<string, unknown>>();
  const port = await freePort();
  await listenOn(server, port);
  const issuer = `http://127.0.0.1:${port}`;
  const serve = () => server.on('request', providerOf(issuer, keys, alg, redirect_uri, claims_of).callback());
  serve();
  const know = (user_id: string, claims: Record<string, unknown> = {}) =>
    void claims_of.set(user_id, { email: `${user_id}@example.com`, email_verified: true, ...claims });

  return {
    issuer,
    jwks_url: `${issuer}/jwks`,
    keys: () => keys,
    know,
    async signIn(user_id, claims) {
      know(user_id, claims);
      return signIn(issuer, user_id);
    },
    async rotate() {
      keys = [await newKey(alg)];
      server.removeAllListeners('request');
      serve();
    },
    stop: () => closeHttp(server),
    async start() {
      server = createServer();
      serve();
      await listenOn(server, port);
    },
  };
}

async function newKey(alg: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg, use: 'sig' };
}

function providerOf(
  issuer: string,
  keys: JWK[],
  alg: 'RS256' | 'ES256',
  redirect_uri: string,
  claims_of: Map<string, Record<string, unknown>>,
): Provider {
  return new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [redirect_uri],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: alg,
      },
    ],
    jwks: { keys: keys as never },
    cookies: { keys: ['a-key-of-cookies'] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 3600, IdToken: 3600 },
    pkce: { required: () => false },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_ctx, token) => claims_of.get((token as { accountId?: string }).accountId ?? ''),
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://checker.example',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          ...{ scope: 'openid', audience: AUDIENCE, accessTokenFormat: 'jwt' },
          jwt: { sign: { alg } },
        }),
      },
    },
  });
}

/** Follows the redirects of a sign-in and sends its two forms: who the user is, and the consent. */
async function signIn(issuer: string, user_id: string): Promise<string> {
  const jar = new CookieJar();
  const query = new URLSearchParams({
    ...{ client_id: CLIENT.client_id, response_type: 'code', scope: 'openid', redirect_uri: REDIRECT_URI },
  });
  const forms = ['login', 'consent'];
  let url = `${issuer}/auth?${query}`;
  let body: URLSearchParams | null = null;
  while (!url.startsWith(REDIRECT_URI)) {
    const headers = { cookie: await jar.getCookieString(url) };
    const init = body ? { method: 'POST', body } : {};
    const response: Response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) await jar.setCookie(cookie, url);
    await response.arrayBuffer();
    const location = response.headers.get('location');
    body = null;
    if (location) url = new URL(location, url).href;
    else {
      const prompt = forms.shift();
      if (response.status !== 200 || !prompt) throw new Error(`the sign-in ended at ${url} with ${response.status}`);
      body = new URLSearchParams({ prompt, login: user_id, password: 'any' });
    }
  }
  const code = new URL(url).searchParams.get('code');
  if (!code) throw new Error(`the sign-in was refused: ${url}`);
  const grant = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...CLIENT };
  const answer = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(grant) });
  const { access_token, ...rest } = (await answer.json()) as { access_token?: string };
  if (!access_token) throw new Error(`no token: ${JSON.stringify(rest)}`);
  return access_token;
}
