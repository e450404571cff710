// The lots of a ledger are those of an accountant's paper, after any order of grants, jobs, refunds, disputes and expiries.
import test from 'ava';
import fc from 'fast-check';
import { move, newAccount, openLots, type Taken } from '../../../audit/account.ts';
import { openSpill } from '../../../audit/spill.ts';
import { type CreditsCommand, decide } from '../../../commands/ledger/credits.ts';
import { type Credits, evolve, initial } from '../../../commands/ledger/ledger.ts';
import type { CreditsEvent } from '../../../events/credits.ts';
import { assertBounded } from '../../support/smaller.ts';
import { Paper } from './ledger-oracle.ts';

/** `LEDGER_RUNS` for more; the others to have one run again. */
const { LEDGER_RUNS, PROPERTY_SEED, PROPERTY_PATH } = process.env;
const again = {
  ...(PROPERTY_SEED ? { seed: Number(PROPERTY_SEED) } : {}),
  ...(PROPERTY_PATH ? { path: PROPERTY_PATH } : {}),
};
const START = Date.parse('2028-01-31T09:00:00.000Z');
const DAY = 86_400_000;

const which = fc.nat({ max: 7 });
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('plan' as const), n: fc.integer({ min: 1, max: 20 }), days: which }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pack' as const), n: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('reserve' as const), n: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('settle' as const), which, unused: fc.nat({ max: 100 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('reverse' as const), which, share: fc.nat({ max: 100 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('reverse' as const), which, share: fc.constantFrom(0, 100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('adjust' as const), n: fc.integer({ min: -10, max: 10 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('later' as const), days: which }) },
);
type Step = typeof step extends fc.Arbitrary<infer Of> ? Of : never;

/** The ledger, the paper beside it, and the audit of what the ledger records. */
class Books {
  credits: Credits = initial();
  readonly paper = new Paper();
  now = START;
  private readonly granted: { lot_id: string; payment_id: string; amount: number }[] = [];
  private readonly open: { job_id: string; amount: number }[] = [];
  private count = 0;
  private readonly audit: (event: CreditsEvent, at: number) => void;

  constructor(audit: Books['audit']) {
    this.audit = audit;
  }

  do(step: Step): void {
    const id = `${this.count++}`;
    switch (step.do) {
      case 'plan':
        this.grant('subscription', id, step.n, this.now + step.days * DAY);
        break;
      case 'pack':
        this.grant('purchase', id, step.n, null);
        break;
      case 'reserve': {
        this.run({ type: 'reserve', reservation_id: `${id}:0`, job_id: id, up_to: step.n });
        const amount = this.paper.reserve(id, step.n, this.now);
        if (amount > 0) this.open.push({ job_id: id, amount });
        return;
      }
      case 'settle': {
        const [job] = this.open.splice(step.which % Math.max(1, this.open.length), 1);
        if (!job) return;
        const { job_id } = job;
        const amount = Math.round((job.amount * step.unused) / 100);
        this.run({ type: 'refund', job_id, reservation_ids: [`${job_id}:0`], amount });
        this.paper.settle(job_id, amount, this.now);
        break;
      }
      case 'reverse': {
        const payment = this.granted[step.which % Math.max(1, this.granted.length)];
        if (!payment) return;
        const { lot_id, payment_id, amount } = payment;
        const target = Math.round((amount * step.share) / 100);
        this.run({ type: 'reverse', payment_id, lot_id, target });
        this.paper.reverse(lot_id, target, this.now);
        break;
      }
      case 'adjust': {
        if (step.n === 0) return;
        this.run({ type: 'expire' });
        this.paper.expire(this.now);
        const amount = Math.max(step.n, -this.credits.balance);
        if (amount === 0) return;
        this.run({ type: 'adjust', adjustment_id: id, amount, reason: 'a correction' });
        this.paper.adjust(`adjustment:${id}`, amount, this.now);
        break;
      }
      case 'later':
        this.now += step.days * DAY;
        this.run({ type: 'expire' });
        this.paper.expire(this.now);
        break;
    }
  }

  figures() {
    const { balance, owed, lots } = this.credits;
    return { balance, owed, lots: lots.map(({ lot_id, remaining, reversed }) => ({ lot_id, remaining, reversed })) };
  }

  private grant(
    transaction_type: 'subscription' | 'purchase',
    id: string,
    amount: number,
    expires: number | null,
  ): void {
    const expires_at = expires === null ? null : new Date(expires).toISOString();
    this.run({ type: 'grant', transaction_type, reference_id: id, amount, expires_at });
    const lot_id = `${transaction_type}:${id}`;
    this.granted.push({ lot_id, payment_id: id, amount });
    this.paper.grant(lot_id, amount, expires ?? Number.POSITIVE_INFINITY, this.now);
  }

  private run(command: CreditsCommand): void {
    const decision = decide(this.credits, command, this.now);
    if ('refused' in decision) throw new Error(decision.refused.message);
    for (const event of decision.events) {
      this.credits = evolve(this.credits, event);
      this.audit(event, this.now);
    }
  }
}

test("the lots are an accountant's, and the audit takes every entry", async (t) => {
  const spill = openSpill();
  t.teardown(() => spill.close());
  const lots = openLots(spill, 10_000);
  let rounds = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50 }), async (steps) => {
    const user_id = `user${++rounds}`;
    const [account, taken] = [newAccount(), [] as Taken[]];
    const books = new Books((event, at) => {
      move({ user_id, account, lots }, event, at, taken);
      if (event.type === 'CreditsReserved') taken.push(event.data);
    });
    for (const each of steps) {
      books.do(each);
      t.deepEqual(books.figures(), books.paper.figures());
    }
  });
  await assertBounded(property, { numRuns: Number(LEDGER_RUNS ?? 400), ...again });
});

const PLAN = { transaction_type: 'subscription', reference_id: 'plan', amount: 15_000 } as const;

test('a refunded plan takes its own credits, and gives bought ones back when a job does', (t) => {
  for (const is_expired of [false, true]) {
    let credits = initial();
    const run = (command: CreditsCommand, days = 0) => {
      const decision = decide(credits, command, START + days * DAY);
      for (const event of 'events' in decision ? decision.events : []) credits = evolve(credits, event);
    };
    const expires_at = new Date(START + 30 * DAY).toISOString();
    run({ type: 'grant', ...PLAN, expires_at });
    run({ type: 'grant', transaction_type: 'purchase', reference_id: 'pack', amount: 500, expires_at: null });
    run({ type: 'reserve', reservation_id: 'job:0', job_id: 'job', up_to: 300 });
    run({ type: 'reverse', payment_id: 'plan', lot_id: 'subscription:plan', target: 15_000 });
    t.is(credits.balance, 200, 'while the job may use them');
    run({ type: 'refund', job_id: 'job', reservation_ids: ['job:0'], amount: 300 }, is_expired ? 31 : 1);
    run({ type: 'expire' }, 60);
    t.like(credits, { balance: 500, owed: 0 });
    t.deepEqual(
      credits.lots.map(({ lot_id, remaining }) => [lot_id, remaining]),
      [
        ['subscription:plan', 0],
        ['purchase:pack', 500],
      ],
    );
  }
});
