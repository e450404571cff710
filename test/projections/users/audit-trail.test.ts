// The audit trail: which events are entries, and that it does not depend on how the log was batched, or on a destroyed key.
import test from 'ava';
import type { CommandContext } from '../../../commands/aggregate.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { openUserAdministration } from '../../../commands/users/administer-users.ts';
import { openUsageLimits } from '../../../commands/users/usage-limits.ts';
import { openErasures } from '../../../commands/users/user.ts';
import type { LogEvent } from '../../../events/vocabulary.ts';
import { auditTrailProjection } from '../../../projections/users/audit-trail.ts';
import { auditTrail, TRAIL_ACTIONS, type TrailEntry, trailPage } from '../../../readmodels/users/audit-trail.ts';
import { coded, commandContext, openTestStores } from '../../support/stores.ts';

const AT = Date.parse('2026-11-22T09:00:00.000Z');
let ticks = 0;
const by = (actor: string): CommandContext => ({ ...commandContext(AT + 1000 * ticks++), actor });

test('what administrators did is an entry in every batching of the log, and reasons go with the user', async (t) => {
  const { log: store } = await openTestStores(t);
  const log = coded(store);
  const credits = openCredits(log);
  const [administration, limits] = [openUserAdministration(credits), openUsageLimits(credits)];
  const accounts = openAccounts(log, credits, { signup_credits: 100, bonus_at: 'first_sight' });
  for (const user_id of ['ada', 'bob']) await accounts.see({ user_id, email: null }, by(`user:${user_id}`));
  const adjustment = { amount: -7, reason: 'double charge', idempotency_key: null };
  await administration.adjustCredits('ada', adjustment, by('admin:root'));
  await administration.adjustCredits('ada', adjustment, by('process:repair'));
  await limits.setLimit('ada', { limit: 5, reason: 'ada owes us' }, by('admin:root'));
  await limits.setUsage('bob', { usage: 3, reason: '' }, by('admin:eve'));
  await openErasures(log).erase('ada', by('admin:erase'));
  await log.deleteStream('personal_keys-user/ada');
  await openErasures(log).forget('ada', by('process:erasures'));

  const sealed = coded(store);
  const events = (await Array.fromAsync(sealed.readAll())).filter(({ type }) =>
    auditTrailProjection.types.includes(type),
  ) as LogEvent[];
  const found: TrailEntry[][] = [];
  for (let split = 0; split <= events.length; split++) {
    const { documents } = await openTestStores(t);
    for (const part of [events.slice(0, split), events.slice(split)]) {
      await documents.transaction((inside) => auditTrailProjection.apply(part, (spec) => inside.collection(spec)));
    }
    const trail = await documents.collection(auditTrail);
    found.push((await trailPage(trail, {}, { limit: 100, offset: 0 })).items);
  }
  for (const trail of found) t.deepEqual(trail, found[0]!);
  t.deepEqual(
    found[0]!.map(({ action, admin, user_id, reason, details }) => [action, admin, user_id, reason, details]),
    [
      ['user_erased', 'erase', 'ada', null, {}],
      ['usage_set', 'eve', 'bob', null, { usage: 3, counted: 0, period_start: '2026-11-01T00:00:00.000Z' }],
      ['usage_limit_set', 'root', 'ada', null, { limit: 5 }],
      ['credits_adjusted', 'root', 'ada', null, { amount: -7, balance_after: 93 }],
    ],
  );
  t.is(new Set(TRAIL_ACTIONS).size, TRAIL_ACTIONS.length);
});
