// The port that verifies tokens of users. Adapters: `adapters/identity`.

export interface Identified {
  /** The identity provider's id of the user. */
  user_id: string;
  /** In lower case; null when the token has no address, an unverified one, or one that is not usable. */
  email: string | null;
  is_admin: boolean;
}

export interface Identity {
  /**
   * Returns null unless the token is of this service's issuer and valid now. Throws an error with code `unavailable` when it cannot
   * fetch the issuer's keys.
   */
  verify(token: string): Promise<Identified | null>;
}

/** RFC 5321, 4.5.3.1: 64 characters before the @, 255 after it. */
const MAX_ADDRESS_CHARS = 320;

/**
 * The address in lower case; null for an empty one, a longer one than mail takes, and one with characters that stores treat differently
 * or that would end a header of a mail.
 */
export function usableAddress(address: string): string | null {
  if (address === '' || address.length > MAX_ADDRESS_CHARS || !address.isWellFormed()) return null;
  return /\p{Cc}/u.test(address) ? null : address.toLowerCase();
}
