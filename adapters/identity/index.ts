// The identity of callers: tokens of an identity provider with a JWKS, or of the local issuer of one machine.
import type { Identity } from '../../http/callers/identity.ts';
import { type JwksOptions, openJwksIdentity } from './jwks.ts';
import { openLocalIdentity } from './local.ts';
import { type ClientOptions, openProvider } from './provider.ts';

export { issueLocalCode, issueLocalToken } from './local.ts';

export type IdentityOptions =
  | (JwksOptions & { client?: Pick<ClientOptions, 'client_id' | 'client_secret' | 'scope'> })
  /** The folder that holds the local issuer's key, made when there is none. */
  | { local: string };

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  if ('local' in options) return await openLocalIdentity(options.local);
  const identity = openJwksIdentity(options);
  const { client, issuer, audience } = options;
  return client ? { ...identity, provider: openProvider({ issuer, audience, ...client }, identity) } : identity;
}
