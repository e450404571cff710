// What is drawn: steps, one after the other, of something alone or of several things at the same time, with the log's
// calls in any order and with faults. After each step everything is held to what must be true.
import fc from 'fast-check';
import { type Action, act, MANY } from './actions.ts';
import { assertHolds, type Known } from './holds.ts';
import { FAULTS, Killed, type Plan, Unavailable } from './log-gate.ts';
import type { Transition } from './transitions.ts';
import { MINUTE, type World } from './world.ts';

const HOUR = 60 * MINUTE;

/** One or more actions at the same time. */
class Together implements fc.AsyncCommand<Known, World> {
  readonly actions: readonly Action[];
  readonly plan: Plan;
  constructor(actions: readonly Action[], plan: Plan) {
    this.actions = actions;
    this.plan = plan;
  }
  check = () => true;
  async run(known: Known, world: World): Promise<void> {
    const tasks = this.actions.map((action) => () => act(action, known, world));
    const faults = world.gate.faults;
    const plan = known.faultless ? { ...this.plan, faults: [] } : this.plan;
    for (const result of await world.run(tasks, plan)) {
      if (result.status === 'fulfilled') continue;
      const met = result.reason instanceof Unavailable || result.reason instanceof Killed;
      if (!met || world.gate.faults === faults) throw result.reason;
    }
    await assertHolds(known, world);
  }
  toString = () => `${JSON.stringify(this.actions)} ${JSON.stringify(this.plan)}`;
}

class Later implements fc.AsyncCommand<Known, World> {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
  check = () => true;
  async run(known: Known, world: World): Promise<void> {
    world.later(this.ms);
    await assertHolds(known, world);
  }
  toString = () => `${this.ms / MINUTE} minutes later`;
}

class Restart implements fc.AsyncCommand<Known, World> {
  readonly part: 'processes' | 'checker' | 'clients';
  constructor(part: 'processes' | 'checker' | 'clients') {
    this.part = part;
  }
  check = () => true;
  async run(known: Known, world: World): Promise<void> {
    if (!known.faultless) world.restart(this.part);
    await assertHolds(known, world);
  }
  toString = () => `restart of ${this.part}`;
}

const few = fc.nat({ max: 3 });
const pass = fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(0, 11) });
const fade = fc.record({ do: fc.constant('expire-results' as const) });
const job = fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 1 }) }, { weight: 1, arbitrary: fc.nat({ max: MANY + 3 }) });
const transition = (name: Transition) => fc.record({ do: fc.constant(name), client: few, job });
/** Mostly the first. */
const user = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) });
const create = fc.record({
  do: fc.constant('create' as const),
  client: few,
  user,
  size: fc.constantFrom(1, 3, 20, 45, 60),
  needs_credits: fc.boolean(),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: create },
  { weight: 5, arbitrary: transition('pause') },
  { weight: 6, arbitrary: transition('resume') },
  { weight: 3, arbitrary: transition('cancel') },
  { weight: 2, arbitrary: transition('delete') },
  { weight: 1, arbitrary: transition('fail') },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rerun' as const), client: few, job: few }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('bulk-delete' as const),
      client: few,
      jobs: fc.uniqueArray(fc.nat({ max: MANY + 3 }), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      client: few,
      user,
      reference: fc.nat({ max: 20 }),
      amount: fc.integer({ min: 1, max: 60 }),
      hours: fc.constantFrom(null, 1, 24),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('adjust' as const),
      client: few,
      user,
      amount: fc.constantFrom(-20, -1, 5),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const), client: few, user }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('take' as const), batches: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('record' as const), pick: few }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('check' as const), batches: fc.constantFrom(1, 2, 5, 20, 40) }) },
  { weight: 1, arbitrary: pass },
  { weight: 1, arbitrary: fade },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('project' as const), batch: fc.constantFrom(1, 3, 1000) }) },
);
/** The races that there are over one job. */
const onLast = (name: Transition) => fc.record({ do: fc.constant(name), client: few, job: fc.constant(0) });
const rivals: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: onLast('resume') },
  { weight: 2, arbitrary: onLast('pause') },
  { weight: 1, arbitrary: onLast('cancel') },
  { weight: 1, arbitrary: onLast('delete') },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('record' as const), pick: few }) },
  { weight: 2, arbitrary: pass },
  { weight: 1, arbitrary: fade },
);
const faultsAmong = (calls: number, minLength: number) =>
  fc.array(fc.record({ call: fc.nat({ max: calls }), fault: fc.constantFrom(...FAULTS) }), { minLength, maxLength: 3 });
const plan: fc.Arbitrary<Plan> = fc.record({
  picks: fc.array(fc.nat({ max: 11 }), { maxLength: 40, size: 'max' }),
  faults: fc.oneof(fc.constant([]), faultsAmong(20, 1)),
});
const IN_ORDER: Plan = { picks: [], faults: [] };

/** A user with a job that has fewer credits, of several lots, than it needs, and with those that it could have. */
export const PRELUDE = [
  { do: 'grant', client: 0, user: 0, reference: 100, amount: 25, hours: 24 },
  { do: 'grant', client: 0, user: 0, reference: 101, amount: 10, hours: null },
  { do: 'create', client: 0, user: 0, size: 45, needs_credits: true },
  { do: 'grant', client: 0, user: 0, reference: 102, amount: 30, hours: 48 },
].map((one) => new Together([one as Action], IN_ORDER));

export const steps = (maxCommands: number) =>
  fc.commands<Known, World, false>(
    [
      action.map((one) => new Together([one], IN_ORDER)),
      fc.tuple(action, faultsAmong(5, 1)).map(([one, faults]) => new Together([one], { picks: [], faults })),
      fc
        .tuple(fc.array(rivals, { minLength: 2, maxLength: 4 }), plan)
        .map(([actions, planned]) => new Together(actions, planned)),
      fc
        .tuple(fc.array(action, { minLength: 2, maxLength: 4 }), plan)
        .map(([actions, planned]) => new Together(actions, planned)),
      fc.constantFrom(1000, 6 * MINUTE, 11 * MINUTE, 16 * MINUTE, 2 * HOUR, 25 * HOUR).map((ms) => new Later(ms)),
      fc.constantFrom('processes' as const, 'checker' as const, 'clients' as const).map((part) => new Restart(part)),
    ],
    { maxCommands, size: 'max' },
  );
