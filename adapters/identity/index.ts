// The identity of callers: tokens of an identity provider with a JWKS, or of the local issuer of one machine.
import type { Identity } from '../../http/callers/identity.ts';
import { type JwksOptions, openJwksIdentity } from './jwks.ts';
import { openLocalIdentity } from './local.ts';

export { issueLocalToken } from './local.ts';

export type IdentityOptions =
  | JwksOptions
  /** The folder that holds the local issuer's key, made when there is none. */
  | { local: string };

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  return 'local' in options ? await openLocalIdentity(options.local) : openJwksIdentity(options);
}
