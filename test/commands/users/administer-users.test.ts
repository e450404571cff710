// Adjustments of credits by administrators: once for each key, never below zero, also beside jobs that spend.
import test, { type ExecutionContext } from 'ava';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { openUserAdministration } from '../../../commands/users/administer-users.ts';
import { openErasures } from '../../../commands/users/user.ts';
import { creditsStream } from '../../../events/streams.ts';
import { assertLedger } from '../../support/ledger.ts';
import { coded, commandContext, openTestStores } from '../../support/stores.ts';

const admin = (name = 'root') => ({ ...commandContext(), actor: `admin:${name}` });

/** A user with 100 credits; `process` opens the commands as another process over the same log. */
async function openWorld(t: ExecutionContext) {
  const log = coded((await openTestStores(t)).log);
  const process = () => {
    const credits = openCredits(log);
    const administration = openUserAdministration(credits);
    const adjust = (amount: number, key: string | null = null, { by = 'root', reason = 'why' } = {}) =>
      administration.adjustCredits('alice', { amount, reason, idempotency_key: key }, admin(by));
    return { credits, administration, adjust };
  };
  const own = process();
  const accounts = openAccounts(log, own.credits, { signup_credits: 100, bonus_at: 'first_sight' });
  await accounts.see({ user_id: 'alice', email: null }, commandContext());
  const balance = async () => (await openCredits(log).aggregate.read(creditsStream('alice'))).state.balance;
  return { ...own, log, process, balance };
}

test('an adjustment under a key is made once, also when the credits are gone and in another process', async (t) => {
  const { adjust, process, balance } = await openWorld(t);
  t.like(await adjust(-100, 'k'), { ok: true, balance: 0, is_repeated: false });
  t.like(await adjust(-100, 'k'), { ok: true, balance: 0, is_repeated: true });
  t.like(await process().adjust(-100, 'k'), { ok: true, is_repeated: true });
  t.like(await adjust(50, 'plus'), { ok: true, balance: 50 });
  t.like(await process().adjust(50, 'plus'), { ok: true, balance: 50, is_repeated: true });
  for (const again of [adjust(-1, 'k'), adjust(-100, 'k', { reason: 'another' }), adjust(51, 'plus')]) {
    t.like(await again, { ok: false, refused: { code: 'idempotency_key_mismatch' } });
  }
  t.is(await balance(), 50);
  t.like(await adjust(1, 'k', { by: 'other' }), { ok: true, balance: 51 }, 'the key of another administrator');
  await Promise.all([adjust(1), adjust(1)]);
  t.is(await balance(), 53, 'without a key each request counts');
});

test('twenty concurrent requests with one key, from two processes, adjust once', async (t) => {
  const { process, balance, log } = await openWorld(t);
  const [one, other] = [process(), process()];
  const all = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).adjust(-7, 'k')));
  t.is(all.filter((each) => each.ok && !each.is_repeated).length, 1);
  t.true(all.every(({ ok }) => ok));
  t.is(await balance(), 93);
  await assertLedger(t, log);
});

test('removals beside jobs that reserve never bring the balance below zero, and each refusal names what was left', async (t) => {
  const { process, balance, log } = await openWorld(t);
  const [one, other] = [process(), process()];
  const reserve = (n: number) => {
    const reservation = { reservation_id: `j${n}:0`, job_id: `j${n}`, up_to: 9 };
    return other.credits.run('alice', { type: 'reserve', ...reservation }, commandContext());
  };
  const [adjusted] = await Promise.all([
    Promise.all(Array.from({ length: 15 }, () => one.adjust(-9))),
    Promise.all(Array.from({ length: 15 }, (_, n) => reserve(n))),
  ]);
  const removed = adjusted.filter(({ ok }) => ok).length;
  const refused = adjusted.flatMap((each) => (each.ok ? [] : [each.refused]));
  t.true(refused.every((each) => each.code === 'insufficient_credits' && each.balance < 9));
  t.true(refused.length > 0);
  t.true(removed <= 11);
  t.is(await balance(), 0, 'reservations take what is left');
  await assertLedger(t, log);
});

test('credits of an unknown and of an erased user are not adjusted', async (t) => {
  const { administration, adjust, log } = await openWorld(t);
  const unknown = administration.adjustCredits('nobody', { amount: 1, reason: '', idempotency_key: null }, admin());
  t.like(await unknown, { ok: false, refused: { code: 'user_not_found' } });
  await openErasures(log).erase('alice', commandContext());
  t.like(await adjust(1), { ok: false, refused: { code: 'user_erased' } });
});
