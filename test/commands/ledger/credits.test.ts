// The ledger: never negative, spends what expires first, gives back to where it took from, and happens once.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { metadataOf } from '../../../commands/aggregate.ts';
import {
  type Credits,
  type CreditsCommand,
  decide,
  evolve,
  initial,
  openCredits,
} from '../../../commands/ledger/credits.ts';
import type { CreditsEvent } from '../../../events/credits.ts';
import { creditsStream } from '../../../events/streams.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const DAY = 86_400_000;

function run(credits: Credits, command: CreditsCommand, now = NOW): CreditsEvent[] {
  const decision = decide(credits, command, now);
  if ('refused' in decision) throw new Error(decision.refused.code);
  for (const event of decision.events) evolve(credits, event);
  return [...decision.events];
}
const grant = (reference_id: string, amount: number, expires_at: string | null = null): CreditsCommand => ({
  type: 'grant',
  transaction_type: 'purchase',
  reference_id,
  amount,
  expires_at,
});
const reserve = (reservation_id: string, up_to: number): CreditsCommand => ({
  type: 'reserve',
  reservation_id,
  job_id: reservation_id.split(':')[0]!,
  up_to,
});
const refund = (job_id: string, amount: number): CreditsCommand => ({
  type: 'refund',
  job_id,
  reservation_ids: [`${job_id}:0`],
  amount,
});
const at = (days: number) => new Date(NOW + days * DAY).toISOString();
const remaining = (credits: Credits) => Object.fromEntries(credits.lots.map((lot) => [lot.lot_id, lot.remaining]));

test('a grant happens once for its reference', (t) => {
  const credits = initial();
  t.is(run(credits, grant('p1', 300)).length, 1);
  t.is(run(credits, grant('p1', 300)).length, 0);
  t.is(credits.balance, 300);
});

test('a reservation takes up to the wanted amount, once', (t) => {
  const credits = initial();
  run(credits, grant('p1', 50));
  t.is(run(credits, reserve('j:0', 80))[0]!.data.amount, -50);
  t.is(run(credits, reserve('j:0', 80)).length, 0);
  t.is(credits.balance, 0);
  t.is(run(credits, reserve('k:0', 1)).length, 0, 'nothing is reserved of nothing');
});

test('a reservation spends the lots that expire first, and a refund returns the last spent first', (t) => {
  const credits = initial();
  run(credits, grant('forever', 100));
  run(credits, grant('late', 100, at(30)));
  run(credits, grant('soon', 100, at(10)));
  run(credits, reserve('j:0', 250));
  t.deepEqual(remaining(credits), { 'purchase:soon': 0, 'purchase:late': 0, 'purchase:forever': 50 });
  run(credits, refund('j', 120));
  t.deepEqual(remaining(credits), { 'purchase:soon': 0, 'purchase:late': 70, 'purchase:forever': 100 });
});

test('a refund happens once for a job, whatever amount it names the second time', (t) => {
  const credits = initial();
  run(credits, grant('p', 100));
  run(credits, reserve('j:0', 100));
  t.is(run(credits, refund('j', 40)).length, 1);
  t.is(run(credits, refund('j', 60)).length, 0);
  t.is(credits.balance, 40);
});

test('a refund leaves the job the credits that it has used', (t) => {
  const credits = initial();
  run(credits, grant('first', 30, at(10)));
  run(credits, reserve('j:0', 30));
  run(credits, grant('second', 20));
  // A resumption that has not come, and never will.
  run(credits, { type: 'reserve', reservation_id: 'j:1', job_id: 'j', up_to: 20 });
  run(credits, refund('j', 10));
  t.deepEqual(remaining(credits), { 'purchase:first': 10, 'purchase:second': 0 });
  run(credits, { type: 'release', reservation_id: 'j:1' });
  t.deepEqual(remaining(credits), { 'purchase:first': 10, 'purchase:second': 20 });
});

test('an expired lot is not spent, and a refund into one expires at once', (t) => {
  const credits = initial();
  run(credits, grant('month', 100, at(10)));
  run(credits, reserve('j:0', 60));
  t.deepEqual(
    run(credits, reserve('k:0', 10), NOW + 11 * DAY).map((event) => [event.type, event.data.amount]),
    [['CreditsExpired', -40]],
  );
  const back = run(credits, refund('j', 60), NOW + 12 * DAY);
  t.deepEqual(
    back.map((event) => event.data.amount),
    [60, -60],
  );
  t.is(credits.balance, 0);
});

test('the ledger refuses an adjustment below zero, and names the balance', (t) => {
  const credits = initial();
  run(credits, grant('p', 10));
  const decision = decide(credits, { type: 'adjust', adjustment_id: 'a', amount: -11, reason: '' }, NOW);
  t.is('refused' in decision && decision.refused.code, 'insufficient_credits');
});

test('a release returns the whole reservation once, and no refund follows', (t) => {
  const credits = initial();
  run(credits, grant('p', 10));
  run(credits, reserve('j:0', 10));
  t.is(run(credits, { type: 'release', reservation_id: 'j:0' }).length, 1);
  t.is(run(credits, { type: 'release', reservation_id: 'j:0' }).length, 0);
  t.is(credits.balance, 10);
  t.throws(() => run(credits, refund('j', 1)));
});

test('after any commands: balance = sum of entries = sum of lots ≥ 0, and no transaction comes twice', (t) => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('grant' as const),
      n: fc.nat(5),
      amount: fc.integer({ min: 1, max: 500 }),
      days: fc.option(fc.integer({ min: 0, max: 20 })),
    }),
    fc.record({ kind: fc.constant('reserve' as const), n: fc.nat(8), amount: fc.integer({ min: 1, max: 600 }) }),
    fc.record({
      kind: fc.constant('refund' as const),
      n: fc.nat(8),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({ kind: fc.constant('release' as const), n: fc.nat(8) }),
    fc.record({ kind: fc.constant('adjust' as const), amount: fc.integer({ min: -300, max: 300 }) }),
    fc.record({ kind: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 5 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const credits = initial();
      const ledger: CreditsEvent[] = [];
      let now = NOW;
      for (const [i, s] of steps.entries()) {
        if (s.kind === 'wait') now += s.days * DAY;
        const command = commandOf(s, credits, i, now);
        if (!command) continue;
        const decision = decide(credits, command, now);
        if ('refused' in decision) continue;
        for (const event of decision.events) {
          evolve(credits, event);
          ledger.push(event);
        }
        const sum = ledger.reduce((total, event) => total + event.data.amount, 0);
        const held = credits.lots.reduce((total, lot) => total + lot.remaining, 0);
        if (!(sum === credits.balance && held === sum && sum >= 0)) throw new Error(`${sum} ${held}`);
      }
      if (new Set(ledger.map((event) => event.data.transaction_id)).size !== ledger.length) {
        throw new Error('a transaction id came twice');
      }
    }),
    { numRuns: 500 },
  );
  t.pass();

  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
  function commandOf(s: Step, credits: Credits, i: number, now: number): CreditsCommand | null {
    if (s.kind === 'grant') {
      const expires_at = s.days === null ? null : new Date(now + s.days * DAY).toISOString();
      return grant(`g${s.n}`, s.amount, expires_at);
    }
    if (s.kind === 'reserve') return reserve(`job${s.n}:0`, s.amount);
    if (s.kind === 'refund') {
      const reserved = credits.reservations.get(`job${s.n}:0`)?.amount ?? 0;
      return refund(`job${s.n}`, Math.floor(reserved * s.share));
    }
    if (s.kind === 'release') {
      // A release is of a reservation that no job has: never of one that was refunded.
      if (credits.done.has(`refund:job${s.n}`)) return null;
      return { type: 'release', reservation_id: `job${s.n}:0` };
    }
    if (s.kind === 'adjust') return { type: 'adjust', adjustment_id: `a${i}`, amount: s.amount, reason: '' };
    return { type: 'expire' };
  }
});

test('a ledger refuses every command while it has an entry of a later version', async (t) => {
  const { log } = await openTestStores(t);
  const credits = openCredits(log);
  await credits.run('alice', grant('p1', 300), commandContext());
  const later = {
    id: randomUUID(),
    type: 'CreditsLent',
    data: { amount: -50 },
    metadata: metadataOf(commandContext()),
  };
  await log.append(creditsStream('alice'), 0, [later]);
  const error = { code: 'unavailable', message: /CreditsLent.*start the later service/ };
  await t.throwsAsync(credits.run('alice', reserve('job:0', 10), commandContext()), error);
  await t.throwsAsync(credits.run('alice', reserve('job:0', 10), commandContext()), error);
  await t.throwsAsync(openCredits(log).aggregate.read(creditsStream('alice')), error);
  await credits.run('bob', grant('p1', 300), commandContext());
  t.is((await credits.aggregate.read(creditsStream('bob'))).state.balance, 300);
});
