// The port that verifies tokens of users. Adapters: `adapters/identity`.
import { isTestUser } from '../../events/test-user.ts';

export interface Identified {
  /** The identity provider's id of the user. */
  user_id: string;
  /** In lower case; null when the token has no address, an unverified one, or one that is not usable. */
  email: string | null;
  /** Absent when the token has no usable name. */
  name?: string;
  is_admin: boolean;
}

/** What begins a session of a browser. */
export interface SignIn {
  /** The id of the session: one sign-in begins one. */
  id: string;
  user: Identified;
  /** How long the session lasts, in seconds. */
  lasts_s: number;
}

/** What only the browser that began a sign-in holds, until it comes back from the provider. */
export interface PendingSignIn {
  /** Names the sign-in. */
  state: string;
  nonce: string;
  verifier: string;
}

/** Signs browsers in at an identity provider. */
export interface SignInProvider {
  /** Returns the provider's page for a sign-in that leads back to `redirect_uri`. Throws an error with code `unavailable` when the provider cannot be asked. */
  begin(redirect_uri: string): Promise<{ url: string; pending: PendingSignIn }>;
  /**
   * Who came back to this address, and until when the provider's token says so, in seconds since 1970. Where the provider refused, or the
   * answer is not that of the sign-in, `refused` says why, for the operator. Throws like `begin`.
   */
  finish(returned: URL, pending: PendingSignIn): Promise<{ user: Identified; expires_s: number } | { refused: string }>;
}

export interface Identity {
  /**
   * Returns null unless the token is of this service's issuer and valid now. Throws an error with code `unavailable` when it cannot
   * fetch the issuer's keys.
   */
  verify(token: string): Promise<Identified | null>;
  /** Until when `verify` answers the same for the token without another verification, in Unix milliseconds; 0 where it would verify now. */
  verifiedUntil?(token: string): number;
  /** Asks the provider for its keys: the status of the answer. Throws without one. Absent where the service is its own issuer. */
  reach?(signal: AbortSignal): Promise<number>;
  /** Who the code of a one-time link signs in; null unless it is of the local issuer and valid now. Absent where a provider signs in. */
  signInBy?(code: string): Promise<SignIn | null>;
  /** Absent where the service has no client at a provider. */
  provider?: SignInProvider;
}

/**
 * Whether it names a stream, which takes 1 to 200 visible ASCII characters, and not the user of test keys.
 * @example ['alice', 'uc_test:alice', ''].map(isUserId) // [true, false, false]
 */
export const isUserId = (id: unknown): id is string =>
  typeof id === 'string' && /^[\x21-\x7e]{1,200}$/.test(id) && !isTestUser(id);

/** RFC 5321, 4.5.3.1: 64 characters before the @, 255 after it. */
const MAX_ADDRESS_CHARS = 320;

/**
 * The address in lower case; null for an empty one, a longer one than mail takes, and one with characters that stores treat differently
 * or that would end a header of a mail.
 * @example usableAddress('Alice@Example.com') // 'alice@example.com'
 */
export function usableAddress(address: string): string | null {
  if (address === '' || address.length > MAX_ADDRESS_CHARS || !address.isWellFormed()) return null;
  return /\p{Cc}/u.test(address) ? null : address.toLowerCase();
}

const MAX_NAME_CHARS = 200;

/**
 * The name with single spaces; null for an empty one, and for one too long or with characters that no name has.
 * @example usableName('  Alice   Arden ') // 'Alice Arden'
 */
export function usableName(given: string): string | null {
  const name = given.trim().replaceAll(/[ \t]+/g, ' ');
  if (name === '' || name.length > MAX_NAME_CHARS || !name.isWellFormed()) return null;
  return /\p{Cc}/u.test(name) ? null : name;
}
