// A model of hosts that move between checkers: checkers join, leave, are killed, sleep and are cut off, and so does the dispatcher, in an
// order that a seed draws. Messages are late. Whatever happens, no two checkers ask one host, and each host is asked again soon.
import test from 'ava';
import { Standing } from '../../checkers/standing.ts';
import type { Alive, Members as View } from '../../checkers/work.ts';
import { Members } from '../../processes/members.ts';
import { openRandom } from '../torture/random.ts';

const TICK_MS = 100;
const HOSTS = Array.from({ length: 60 }, (_, n) => `h${n}.example`);
const urlOf = (host: string) => `https://${host}/`;
/** As `dispatch-passes.ts` has them. */
const FIRST_ANSWER_MS = 3000;
const OTHER_ANSWERS_MS = 500;
const LONGEST_REQUEST_MS = 40_000;

interface Request {
  host: string;
  view: number;
  ends_at: number;
  /** From before its checker stopped asking because the others may take it for dead. */
  is_stale: boolean;
}

interface ModelChecker {
  standing: Standing;
  /** When it wakes; 0 while it is awake. */
  asleep_until: number;
  cut_until: number;
  inbox: { host: string; view: number }[];
  in_hand: { host: string; view: number }[];
  in_flight: Request[];
  announced_at: number;
  /** Nobody remembered it when the dispatcher began: for as long as it may ask, it may ask beside another. */
  is_forgotten: boolean;
}

interface ModelDispatcher {
  members: Members;
  asleep_until: number;
  /** When it learns that it has lost its lease; null for the one that holds it. */
  ends_at: number | null;
  /** It asks who is there, and waits for the answers. */
  begins_at: number;
  /** Whether one of them knew an earlier view. */
  has_inherited: boolean;
}

function run(seed: number, seconds: number) {
  const random = openRandom(seed);
  let now = 1000;
  let names = 0;
  const checkers = new Map<string, ModelChecker>();
  const dispatchers: ModelDispatcher[] = [];
  let successor_at: number | null = null;
  let queue_away_until = 0;
  const late: { at: number; deliver: () => void }[] = [];
  const log: string[] = [];
  const last_asked = new Map<string, number>(HOSTS.map((host) => [host, now]));
  let quiet_since = now;
  const violations: string[] = [];

  const isCut = ({ cut_until, asleep_until }: ModelChecker) => now < cut_until || now < asleep_until;
  const broadcast = (deliver: () => void) => {
    if (now < queue_away_until) return;
    late.push({ at: now + random.between(0, 300), deliver });
  };

  function join(): void {
    const id = `c${names++}`;
    const checker: ModelChecker = {
      ...{ standing: new Standing(id, now), asleep_until: 0, cut_until: 0, announced_at: 0, is_forgotten: false },
      ...{ inbox: [], in_hand: [], in_flight: [] },
    };
    checkers.set(id, checker);
    announce(checker);
  }
  function announce(checker: ModelChecker): void {
    if (isCut(checker)) return;
    const { id, named_in: view, settled, latest } = checker.standing;
    checker.announced_at = now;
    const alive: Alive = {
      id,
      leaves: false,
      slots: 10,
      has_subject: true,
      sent_ms: now,
      is_cut_off: !checker.standing.mayAsk(now),
      view,
      settled,
      latest,
    };
    broadcast(() => {
      for (const one of dispatchers) {
        if (now < one.asleep_until) continue;
        one.members.observe(alive, now);
        one.has_inherited ||= latest.view > 0;
        one.begins_at = Math.min(one.begins_at, now + (latest.view > 0 ? 0 : OTHER_ANSWERS_MS));
      }
      for (const one of checkers.values()) if (!isCut(one)) one.standing.learn(latest);
      if (checker.standing.id === id && !isCut(checker)) checker.standing.observeItself(alive.sent_ms!);
    });
  }
  function openModelDispatcher(): void {
    dispatchers.push({
      members: new Members(random.between(0, 60_000), now),
      asleep_until: 0,
      ends_at: null,
      begins_at: Math.max(now, queue_away_until) + FIRST_ANSWER_MS,
      has_inherited: false,
    });
    // The queue takes its question when it is there.
    const ask = () => {
      for (const checker of checkers.values()) announce(checker);
    };
    late.push({ at: Math.max(now, queue_away_until), deliver: ask });
  }

  function receive(checker: ModelChecker, view: View): void {
    if (isCut(checker)) return;
    const news = checker.standing.observe(view, now);
    if (news === 'expelled') {
      checkers.delete(checker.standing.id);
      const id = `c${names++}`;
      checkers.set(id, checker);
      Object.assign(checker, {
        standing: new Standing(id, now, checker.standing.latest),
        inbox: [],
        in_hand: [],
        in_flight: [],
        is_forgotten: false,
      });
    }
    if (news === 'same') return;
    release(checker);
    announce(checker);
  }
  function release(checker: ModelChecker): void {
    const { standing } = checker;
    if (!standing.isUnsettled) return;
    const isOurs = ({ host }: { host: string }) => standing.owns(host);
    checker.in_hand = checker.in_hand.filter(isOurs);
    if (standing.isLate(now)) checker.in_flight = checker.in_flight.filter(isOurs);
    if (!checker.in_flight.every(isOurs)) return;
    standing.settle();
    announce(checker);
  }

  function dispatch(dispatcher: ModelDispatcher): void {
    const { members } = dispatcher;
    if (now < dispatcher.begins_at) return;
    if (!dispatcher.has_inherited) for (const one of checkers.values()) one.is_forgotten ||= isCut(one);
    dispatcher.has_inherited = true;
    const { gone } = members.look(now);
    // What is sent to the dead is dropped; a sleeper finds nothing new when it wakes.
    for (const id of gone) for (const one of checkers.values()) if (one.standing.id === id) one.inbox = [];
    const view = members.announcement(now);
    if (view) {
      broadcast(() => {
        if (now >= dispatcher.asleep_until) members.observeItself(view, now);
        for (const one of [...checkers.values()]) receive(one, view);
      });
    }
    if (now < queue_away_until) return;
    for (const host of HOSTS) {
      const target = members.targetOf(urlOf(host));
      if (target === null) continue;
      const checker = checkers.get(target);
      const has = (all: readonly { host: string }[]) => all.some((one) => one.host === host);
      if (!checker || has(checker.inbox) || has(checker.in_hand) || has(checker.in_flight)) continue;
      checker.inbox.push({ host, view: members.view });
    }
  }

  function work(checker: ModelChecker): void {
    const { standing } = checker;
    if (!isCut(checker) && now >= queue_away_until) {
      for (const one of checker.inbox.splice(0))
        if (standing.isFor(urlOf(one.host), one.view)) checker.in_hand.push(one);
    }
    checker.in_flight = checker.in_flight.filter(({ ends_at }) => ends_at > now);
    for (const one of [...checker.in_hand]) {
      // One at a time of a host that is not known as its own: no full rate.
      if (!standing.mayAsk(now) || !standing.owns(one.host)) continue;
      for (const other of checkers.values()) {
        const is_there =
          other !== checker && other.in_flight.some(({ host, is_stale }) => host === one.host && !is_stale);
        if (is_there) {
          violations.push(`${now}: ${one.host} of ${other.standing.id} is asked by ${standing.id}`);
        }
      }
      checker.in_hand.splice(checker.in_hand.indexOf(one), 1);
      last_asked.set(one.host, now);
      const is_slow = random.chance(0.02);
      checker.in_flight.push({
        ...one,
        is_stale: false,
        ends_at: now + random.between(50, is_slow ? LONGEST_REQUEST_MS : 1500),
      });
    }
    release(checker);
    if (now - checker.announced_at >= 1000) announce(checker);
  }

  function happen(): void {
    const all = [...checkers.values()];
    const victim = random.pick(all);
    const what = random.pick(['join', 'leave', 'kill', 'sleep', 'cut', 'dispatcher', 'both', 'queue'] as const);
    log.push(`${now}: ${what} ${victim.standing.id}`);
    quiet_since = now;
    if (what === 'join' || all.length < 2) {
      if (all.length < 6) join();
    } else if (what === 'leave' || what === 'kill') {
      checkers.delete(victim.standing.id);
      const { id } = victim.standing;
      if (what === 'leave' && !isCut(victim)) {
        broadcast(() => {
          for (const one of dispatchers) if (now >= one.asleep_until) one.members.observe({ id, leaves: true }, now);
        });
      }
    } else if (what === 'sleep') victim.asleep_until = now + random.between(500, 60_000);
    else if (what === 'cut') victim.cut_until = now + random.between(500, 20_000);
    else if (what === 'queue') queue_away_until = now + random.between(500, 15_000);
    else if (successor_at === null && dispatchers.length === 1) {
      // Another one gets the lease; the first is dead, or wakes later and works for a moment.
      successor_at = now + random.between(1000, 9000);
      if (what === 'dispatcher') dispatchers.pop();
      else {
        const asleep_until = now + random.between(5000, 20_000);
        const [one] = dispatchers;
        Object.assign(one!, { asleep_until, ends_at: asleep_until + random.between(0, 1000) });
        // One that slept before its first view begins no more: its lease is lost when it wakes.
        if (now < one!.begins_at) one!.begins_at = Number.POSITIVE_INFINITY;
      }
    }
  }

  openModelDispatcher();
  join();
  join();
  let next_event = now + 5000;
  for (const end = now + seconds * 1000; now < end && violations.length === 0; now += TICK_MS) {
    for (const message of late.filter(({ at }) => at <= now)) {
      late.splice(late.indexOf(message), 1);
      message.deliver();
    }
    if (successor_at !== null && now >= successor_at) {
      successor_at = null;
      openModelDispatcher();
    }
    for (const one of [...dispatchers]) {
      if (one.ends_at !== null && now >= one.ends_at) dispatchers.splice(dispatchers.indexOf(one), 1);
      else if (now >= one.asleep_until) dispatch(one);
    }
    for (const one of checkers.values()) {
      if (one.is_forgotten || !one.standing.mayAsk(now)) for (const request of one.in_flight) request.is_stale = true;
    }
    for (const one of [...checkers.values()]) if (now >= one.asleep_until) work(one);
    const faults = [queue_away_until, ...[...checkers.values()].flatMap((one) => [one.asleep_until, one.cut_until])];
    if (now < Math.max(...faults) || successor_at !== null) quiet_since = now;
    if (now - quiet_since > 25_000) {
      const starved = HOSTS.filter((host) => now - last_asked.get(host)! > LONGEST_REQUEST_MS + 10_000);
      if (starved.length > 0) violations.push(`${now}: nobody asks ${starved}`);
    }
    if (now < next_event) continue;
    happen();
    next_event = now + (random.chance(0.1) ? 70_000 : random.between(200, 12_000));
  }
  return { violations, log };
}

const RUNS = Number(process.env.MOVING_HOSTS_RUNS ?? 30);
const FIRST_SEED = Number(process.env.MOVING_HOSTS_SEED ?? 1);

test('no two checkers ask one host, and none is forgotten, whoever joins, leaves, dies, sleeps or is cut off', (t) => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
    const { violations, log } = run(seed, 400);
    t.deepEqual(violations, [], `seed ${seed}\n${log.slice(-6).join('\n')}`);
    if (violations.length > 0) return;
  }
});
