// The port of signing in: whose a token is. Adapters: `adapters/identity`.

export interface Identified {
  /** The identity provider's id of the user: the claim `sub`. */
  user_id: string;
  /** In lower case; null when the provider does not tell. */
  email: string | null;
  is_admin: boolean;
}

export interface Identity {
  /**
   * Null for whatever is not a token of this service's issuer, valid now: the caller learns no more. Throws an error
   * with code `unavailable` when that cannot be told, because the issuer's keys cannot be fetched.
   */
  verify(token: string): Promise<Identified | null>;
}
