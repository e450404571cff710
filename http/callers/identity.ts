// The port that verifies tokens of users. Adapters: `adapters/identity`.

export interface Identified {
  /** The identity provider's id of the user. */
  user_id: string;
  /** In lower case; null when the token has no address, or an unverified one. */
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
