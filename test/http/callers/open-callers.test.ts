// Who asks by an API key, from the key to the account: an erased owner's keys open nothing from the moment of the request to erase.
import test from 'ava';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { idOfKey, openApiKeys } from '../../../commands/users/api-keys.ts';
import type { EventStore } from '../../../events/event-store.ts';
import { testUserOf } from '../../../events/test-user.ts';
import type { Parts } from '../../../http/group.ts';
import { openCallers } from '../../../http/open-callers.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { commandContext, openTestStores, project, silent, type TestStores } from '../../support/stores.ts';

const accountsOf = (log: EventStore) =>
  openAccounts(log, openCredits(log), { signup_credits: 0, bonus_at: 'first_sight' });

/** `reads` is called with the id of each document that is read. */
function openTestCallers({ log, documents }: TestStores, reads = (_id: string) => {}) {
  const readmodels = openReadModels(documents);
  const collection = (spec: Parameters<typeof readmodels.collection>[0]) => {
    const opened = readmodels.collection(spec);
    const get = (id: string) => {
      reads(id);
      return opened.get(id);
    };
    return { ...opened, get };
  };
  const read = (specs: Record<string, Parameters<typeof collection>[0]>) =>
    Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, collection(spec)]));
  const parts = { log, accounts: accountsOf(log), read, logger: silent, passed: async () => true, now: Date.now };
  return openCallers({ ...parts, atEnd: () => {} } as unknown as Parts);
}

test('a key is read once; that it was revoked is seen before the read models have it', async (t) => {
  const stores = await openTestStores(t);
  const { log } = stores;
  const reads: string[] = [];
  const callers = openTestCallers(stores, (id) => reads.push(id));
  const keys = openApiKeys(log);
  const key = { plaintext: 'uc_live_'.padEnd(51, 'k'), user_id: 'alice', email: null, name: 'nightly' };
  await keys.create(key, commandContext());
  await project(stores);
  for (let n = 0; n < 3; n++) t.is((await callers.api_key(key.plaintext))?.user_id, 'alice');
  t.is(reads.length, 1);
  await openApiKeys(log).revoke({ key_id: idOfKey(key.plaintext), user_id: 'alice' }, commandContext());
  t.is(await callers.api_key(key.plaintext), null);
});

test('the keys of an erased owner open nothing while the erasure is still to be carried out, those of tests too', async (t) => {
  const stores = await openTestStores(t);
  const { log } = stores;
  const accounts = accountsOf(log);
  const callers = openTestCallers(stores);
  await accounts.see({ user_id: 'alice', email: null }, commandContext());
  const keys = openApiKeys(log);
  const [live, tested] = ['uc_live_'.padEnd(51, 'k'), 'uc_test_'.padEnd(51, 'k')];
  const of_alice = { user_id: 'alice', email: null, name: 'nightly' };
  await keys.create({ plaintext: live, ...of_alice }, commandContext());
  await keys.create({ plaintext: tested, ...of_alice, is_test: true }, commandContext());
  await project(stores);
  const found = [(await callers.api_key(live))!, (await callers.api_key(tested))!];
  t.deepEqual(
    found.map(({ user_id }) => user_id),
    ['alice', testUserOf('alice')],
  );
  for (const caller of found) await t.notThrowsAsync(callers.seen(caller, commandContext));
  await accounts.erase('alice', commandContext());
  for (const caller of found) await t.throwsAsync(callers.seen(caller, commandContext), { message: /API key/ });
});
