import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import {
  BONUSES_A_DAY,
  claim,
  evolve,
  initial,
  openBonusClaims,
  SITE_BONUSES_A_DAY,
} from '../../../commands/users/signup-bonus.ts';
import type { EventStore } from '../../../events/event-store.ts';
import type { SignupBonusesEvent } from '../../../events/signup-bonus.ts';
import { creditsStream, signupBonusesStream, userStream } from '../../../events/streams.ts';
import { coded, commandContext, openTestStores } from '../../support/stores.ts';

const NOW = Date.parse('2026-11-22T09:00:00.000Z');
const DAY_MS = 24 * 3_600_000;
const hash = (of: string) => Buffer.from(of.padEnd(32, '.')).toString('hex');
const claimed = (user: string, fingerprint: string, at = NOW): SignupBonusesEvent => ({
  type: 'SignupBonusClaimed',
  data: { user, fingerprint, claimed_at: new Date(at).toISOString() },
});
const given = (...events: SignupBonusesEvent[]) => events.reduce(evolve, initial());

test('an address gets three bonuses in 24 hours, each for another fingerprint', (t) => {
  const three = given(claimed('a', 'f1'), claimed('b', 'f2'), claimed('c', 'f3'));
  t.like(claim(three, { user: 'd', fingerprint: 'f4' }, NOW + DAY_MS - 1), { refused: { code: 'address_limit' } });
  t.like(claim(given(claimed('a', 'f1')), { user: 'b', fingerprint: 'f1' }, NOW), {
    refused: { code: 'fingerprint_repeated' },
  });
  t.like(claim(three, { user: 'd', fingerprint: 'f1' }, NOW + DAY_MS), { events: [{ type: 'SignupBonusClaimed' }] });
});

test('claims of a clock that was a year ahead do not count', (t) => {
  const ahead = given(...['a', 'b', 'c'].map((user) => claimed(user, user, NOW + 365 * DAY_MS)));
  t.like(claim(ahead, { user: 'd', fingerprint: 'a' }, NOW), { events: [{ type: 'SignupBonusClaimed' }] });
});

test('a claim is recorded once for a user', (t) => {
  t.deepEqual(claim(given(claimed('a', 'f1')), { user: 'a', fingerprint: 'f2' }, NOW), { events: [] });
});

test('only the newest claims of an address are read', async (t) => {
  const { log } = await openTestStores(t);
  const claims = openBonusClaims(log);
  for (let day = 0; day < 20; day++) {
    for (let n = 0; n < BONUSES_A_DAY; n++) {
      const one = { address: 'home', site: null, user: hash(`${day}-${n}`), fingerprint: hash(`f${n}`) };
      t.is(await claims.claim(one, commandContext(NOW + day * DAY_MS)), null);
    }
  }
  let read = 0;
  const counted: EventStore = {
    ...log,
    async *readStream(...args) {
      for await (const event of log.readStream(...args)) {
        read++;
        yield event;
      }
    },
  };
  const again = { address: 'home', site: null, user: hash('late'), fingerprint: hash('f9') };
  t.is(await openBonusClaims(counted).claim(again, commandContext(NOW + 19 * DAY_MS)), 'address_limit');
  t.true(read <= 2 * SITE_BONUSES_A_DAY, String(read));
});

test('the networks of a site (/48) get twelve bonuses in 24 hours together, with any fingerprint', async (t) => {
  const { log } = await openTestStores(t);
  const claims = openBonusClaims(log);
  const claimIn = (subnet: number, at = NOW, site = 'site') =>
    claims.claim(
      { address: `net-${subnet}`, site, user: hash(`u${subnet}`), fingerprint: hash('f') },
      commandContext(at),
    );
  for (let subnet = 0; subnet < SITE_BONUSES_A_DAY; subnet++) t.is(await claimIn(subnet), null, `subnet ${subnet}`);
  t.is(await claimIn(100), 'address_limit');
  t.is(await claimIn(0), null, 'its claim is recorded');
  t.is(await claimIn(101, NOW, 'elsewhere'), null);
  t.is(await claimIn(102, NOW + DAY_MS), null);
});

const FINGERPRINT = { os: 'Linux', device_type: 'desktop', screen_size: '1920x1080' };
const OPTIONS = { signup_credits: 300, bonus_at: 'fingerprint' } as const;

/** Accounts as `count` http processes over one log have them. */
const processes = (log: EventStore, count: number) =>
  Array.from({ length: count }, () => openAccounts(log, openCredits(log), OPTIONS));

const first = (user_id: string, fingerprint: string, address = 'home') => ({
  user_id,
  fingerprint: { ...FINGERPRINT, os: fingerprint },
  claim: { address, site: null, user: hash(user_id), fingerprint: hash(fingerprint) },
});

async function balances(log: EventStore, user_ids: readonly string[]): Promise<number[]> {
  const { aggregate } = openCredits(log);
  return Promise.all(user_ids.map(async (user_id) => (await aggregate.read(creditsStream(user_id))).state.balance));
}

test('twenty first calls of one user at once, over two processes, grant once', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const both = processes(log, 2);
  await both[0]!.see({ user_id: 'alice', email: null }, commandContext());
  t.deepEqual(await balances(log, ['alice']), [0], 'not before the first call');
  const calls = Array.from({ length: 20 }, (_, n) =>
    both[n % 2]!.recordFingerprint(first('alice', 'Linux', `address ${n % 3}`), commandContext()),
  );
  for (const call of await Promise.all(calls)) t.like(call, { ok: true, bonus: { status: 'granted' } });
  t.deepEqual(await balances(log, ['alice']), [300]);
});

test('twenty users at one address at once, over two processes, get three bonuses', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const both = processes(log, 2);
  const user_ids = Array.from({ length: 20 }, (_, n) => `user-${n}`);
  await Promise.all(user_ids.map((user_id) => both[0]!.see({ user_id, email: null }, commandContext())));
  const made = await Promise.all(
    user_ids.map((user_id, n) => both[n % 2]!.recordFingerprint(first(user_id, `os ${n}`), commandContext())),
  );
  const bonuses = made.map((one) => (one.ok ? one.bonus.status : 'refused'));
  t.is(bonuses.filter((status) => status === 'granted').length, BONUSES_A_DAY);
  t.is(bonuses.filter((status) => status === 'withheld').length, 20 - BONUSES_A_DAY);
  t.deepEqual(
    await balances(log, user_ids),
    bonuses.map((status) => (status === 'granted' ? 300 : 0)),
  );
  const [withheld] = user_ids.filter((_, n) => bonuses[n] === 'withheld');
  const types = (await Array.fromAsync(log.readStream(userStream(withheld!)))).map(({ type }) => type);
  t.deepEqual(types, ['UserRegistered', 'FingerprintRecorded', 'SignupBonusWithheld']);
});

test('a process that is killed at any append loses no bonus and grants none twice', async (t) => {
  for (let fatal = 1, is_finished = false; !is_finished; fatal++) {
    const log = coded((await openTestStores(t)).log);
    let appends = 0;
    const killed: EventStore = {
      ...log,
      async append(...args) {
        if (++appends === fatal) throw new Error('killed');
        return log.append(...args);
      },
    };
    const dying = openAccounts(killed, openCredits(killed), OPTIONS);
    const [survivor] = processes(log, 1);
    const call = first('alice', 'Linux');
    await dying.see({ user_id: 'alice', email: null }, commandContext()).catch(() => {});
    is_finished = await dying.recordFingerprint(call, commandContext()).then(
      () => appends < fatal,
      () => false,
    );
    t.like(await survivor!.recordFingerprint(call, commandContext()), { ok: true, bonus: { status: 'granted' } });
    t.deepEqual(await balances(log, ['alice']), [300], `killed at append ${fatal}`);
    const claims = await Array.fromAsync(log.readStream(signupBonusesStream('home')));
    t.is(claims.length, 1);
  }
});

test('a bonus that was approved before a crash is granted at the next request', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const [accounts] = processes(log, 1);
  await accounts!.see({ user_id: 'alice', email: null }, commandContext());
  const approved = {
    type: 'SignupBonusApproved',
    data: {},
    id: randomUUID(),
    metadata: { ...commandContext(), at: '' },
  };
  const { now: _now, ...metadata } = approved.metadata;
  await log.append(userStream('alice'), 0, [{ ...approved, metadata: { ...metadata, at: new Date().toISOString() } }]);
  await accounts!.see({ user_id: 'alice', email: null }, commandContext());
  t.deepEqual(await balances(log, ['alice']), [300]);
});

test('without a limit by fingerprint the bonus comes with the first sight, once', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const accounts = openAccounts(log, openCredits(log), { signup_credits: 300, bonus_at: 'first_sight' });
  await accounts.see({ user_id: 'alice', email: null }, commandContext());
  t.deepEqual(await balances(log, ['alice']), [300]);
  t.like(await accounts.recordFingerprint(first('alice', 'Linux'), commandContext()), { bonus: { status: 'granted' } });
  t.deepEqual(await balances(log, ['alice']), [300]);
});

test('where accounts get no credits the bonus is still decided, for the trial', async (t) => {
  const { log } = await openTestStores(t);
  const accounts = openAccounts(log, openCredits(log), { ...OPTIONS, signup_credits: 0 });
  for (let n = 0; n < 4; n++) {
    await accounts.see({ user_id: `u${n}`, email: null }, commandContext(NOW));
    const done = await accounts.recordFingerprint(first(`u${n}`, `f${n}`), commandContext(NOW));
    t.like(done, { ok: true, bonus: { status: 'none' } });
  }
  const decided = async (n: number) => (await Array.fromAsync(log.readStream(userStream(`u${n}`)))).at(-1)!.type;
  t.deepEqual(
    [await decided(2), await decided(3), await balances(log, ['u2'])],
    ['SignupBonusApproved', 'SignupBonusWithheld', [0]],
  );
});
