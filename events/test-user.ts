// Test keys: whoever asks by one is another user beside its owner, who has jobs and webhook endpoints of its own and no credits.
// Decision 185 says why.

/** Names of hosts below `.test` exist nowhere (RFC 6761). Each checker answers for this one itself. */
export const SANDBOX_HOST = 'sandbox.test';
/** The most URLs of a job of a test key. */
export const MAX_TEST_URLS = 100;

/** Of the ids of such users. */
export const TEST_USER_PREFIX = 'uc_test:';

/**
 * The user as whom the test keys of `user_id` ask.
 * @example testUserOf('alice') // 'uc_test:alice'
 */
export const testUserOf = (user_id: string): string => TEST_USER_PREFIX + user_id;

/**
 * Whether it is the user of test keys. No identity provider's user has such an id: the service refuses them.
 * @example ['uc_test:alice', 'alice'].map(isTestUser) // [true, false]
 */
export const isTestUser = (user_id: string): boolean => user_id.startsWith(TEST_USER_PREFIX);

/**
 * The user who has the account: of test keys, their owner.
 * @example ['uc_test:alice', 'alice'].map(accountOf) // ['alice', 'alice']
 */
export const accountOf = (user_id: string): string =>
  isTestUser(user_id) ? user_id.slice(TEST_USER_PREFIX.length) : user_id;
