// Who asks by an API key, from the key to the account: an erased owner's keys open nothing from the moment of the request to erase.
import test from 'ava';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { openApiKeys } from '../../../commands/users/api-keys.ts';
import { testUserOf } from '../../../events/test-user.ts';
import type { Parts } from '../../../http/group.ts';
import { openCallers } from '../../../http/open-callers.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { commandContext, openTestStores, project, silent } from '../../support/stores.ts';

test('the keys of an erased owner open nothing while the erasure is still to be carried out, those of tests too', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const accounts = openAccounts(log, openCredits(log), { signup_credits: 0, bonus_at: 'first_sight' });
  const readmodels = openReadModels(documents);
  const read = (specs: Record<string, Parameters<typeof readmodels.collection>[0]>) =>
    Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, readmodels.collection(spec)]));
  const parts = { log, accounts, read, logger: silent, passed: async () => true, now: Date.now, atEnd: () => {} };
  const callers = openCallers(parts as unknown as Parts);

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
