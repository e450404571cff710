// What an operator who runs the service for themselves need not set: there nobody sells, so nobody is short of credits.

/** The credits of a new account where credits may be sold, and where people run the service for themselves. */
const SOLD_CREDITS = 300;
const OWN_CREDITS = 1_000_000;

export const SIGNUP_CREDITS_MEAN =
  `The credits of a new account; unset: ${SOLD_CREDITS}, and ${OWN_CREDITS} where the log is embedded and neither IDENTITY_JWKS_URL nor ` +
  'PAYMENT_SECRET_KEY is set.';

interface Chosen {
  readonly eventstore_url: string | null;
  readonly identity_jwks_url: string | null;
  readonly payment_secret_key: string | null;
}

/** Whether nobody signs in from elsewhere, and nobody pays. */
export const isForOneself = ({ eventstore_url, identity_jwks_url, payment_secret_key }: Chosen): boolean =>
  eventstore_url === null && identity_jwks_url === null && payment_secret_key === null;

/** The credits of a new account where the operator has not set them. */
export const usualCredits = (settings: Chosen): number => (isForOneself(settings) ? OWN_CREDITS : SOLD_CREDITS);
