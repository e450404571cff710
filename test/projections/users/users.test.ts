// The read models of users and of intake events, also of a user who is erased.
import test from 'ava';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openReportedEvents } from '../../../commands/reported-events.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { openUsageLimits } from '../../../commands/users/usage-limits.ts';
import { openErasures } from '../../../commands/users/user.ts';
import { reportedEvents } from '../../../readmodels/growth/reported-events.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { users } from '../../../readmodels/users/users.ts';
import { coded, commandContext, openTestStores, project } from '../../support/stores.ts';

const AT = '2026-11-22T09:00:00.000Z';
const context = () => commandContext(Date.parse(AT));
const hash = (text: string) => Buffer.from(text.padEnd(32, '.')).toString('hex');

test('the read model shows what happened to an account, and keeps nothing personal of an erased user', async (t) => {
  const { log: store, documents } = await openTestStores(t);
  const log = coded(store);
  const credits = openCredits(log);
  const accounts = openAccounts(log, credits, { signup_credits: 300, bonus_at: 'fingerprint' });
  const intake = openReportedEvents(log);
  const readmodels = openReadModels(documents);
  for (const user_id of ['ada', 'bob']) {
    await accounts.see({ user_id, email: `${user_id}@example.com` }, context());
    const fingerprint = { os: 'the same', device_type: null, screen_size: null };
    const claim = { address: 'home', site: null, user: hash(user_id), fingerprint: hash('the same') };
    await accounts.recordFingerprint({ user_id, fingerprint, claim }, context());
    await intake.recordPaywallEvent({ event: 'shown', user_id, properties: '{"plan":"pro"}' }, context());
  }
  await openUsageLimits(credits).setLimit('bob', { limit: 7, reason: 'abuse' }, context());
  const agency = { event: 'client_added', agency_id: 'agency-7', occurred_at: AT, properties: '{}' };
  await intake.recordAgencyEvent(agency, context());
  await project({ log, documents });

  const granted = { status: 'granted', reason: null, at: AT };
  const none = { custom_limit: null, notes: null, jobs_created: 0, last_job_at: null, erased_at: null };
  const fingerprint = { os: 'the same', device_type: null, screen_size: null, recorded_at: AT };
  const ada = {
    _id: 'ada',
    email: 'ada@example.com',
    name: null,
    registered_at: AT,
    bonus: granted,
    ...none,
    fingerprint,
  };
  t.deepEqual(await readmodels.collection(users).get('ada'), ada);
  t.like(await readmodels.collection(users).get('bob'), {
    bonus: { status: 'withheld', reason: 'fingerprint_repeated', at: AT },
    custom_limit: 7,
  });
  const received = (kind: string) => readmodels.collection(reportedEvents).find({ kind }, { sort: { received_at: 1 } });
  t.like(await received('agency'), [{ ...agency, user_id: null, received_at: AT }]);
  t.like(await received('paywall'), [{ event: 'shown' }, { event: 'shown' }]);

  const [erasures, later] = [openErasures(log), commandContext(Date.parse(AT) + 1)];
  await erasures.erase('ada', later);
  // A request that had begun before reports after it.
  await intake.recordPaywallEvent({ event: 'shown', user_id: 'ada', properties: '{}' }, context());
  await log.deleteStream('personal_keys-user/ada');
  await erasures.forget('ada', later);
  await project({ log, documents });
  const erased = { ...ada, email: null, fingerprint: null, erased_at: '2026-11-22T09:00:00.001Z' };
  t.deepEqual(await readmodels.collection(users).get('ada'), erased);
  t.like(await received('paywall'), [{ user_id: 'bob' }]);

  // A replay, which cannot open the events of the erased user, makes the same documents.
  const { documents: replayed } = await openTestStores(t);
  await project({ log: coded(store), documents: replayed });
  const fresh = openReadModels(replayed);
  t.deepEqual(await fresh.collection(users).get('ada'), erased);
  t.deepEqual(await fresh.collection(reportedEvents).find({}), await readmodels.collection(reportedEvents).find({}));
});
