// The other checkers: each says every second that it is alive, so that all know among how many a host's limit is shared,
// and who asks for all.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { pause } from '../time/pause.ts';
import { partOf } from './budget.ts';
import type { Engine, Peers } from './engine/engine.ts';
import type { ProbeRequest } from './engine/probes.ts';
import type { Queue } from './queue.ts';
import { SharedProbes } from './shared-probes.ts';
import {
  ALIVE_SUBJECT,
  type Alive,
  HELD_SUBJECT,
  type Held,
  PROBE_SUBJECT,
  PROBED_SUBJECT,
  type Probed,
  SUSPECT_SUBJECT,
  type Suspected,
} from './work.ts';

export interface PeersOptions {
  queue: Queue;
  engine: Engine;
  logger: Logger;
  signal: AbortSignal;
  /** What one attempt may last: who has lost its turn at a host may still ask it for so long. */
  attempt_ms: number;
  /** Between two signs of life. */
  announce_ms?: number;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

const ANNOUNCE_MS = 1000;
/** Of the latest, so that a message stays small. */
const MAX_TOLD_SUSPECTS = 20;
/** In announcements: after this long without one a checker is taken for gone. */
const FORGOTTEN_AFTER = 5;
/** Of the time between announcements, how long the first one waits for an answer: who is alone begins after it. */
const ANSWERED_WITHIN = 1 / 4;
/** In attempts. In the first of them a host belongs to those alone who had it in the turn before too. */
const TURN_ATTEMPTS = 4;

/**
 * Joins them: resolves when those who are alive know of this one, and have made room for it. `leave` gives its part back
 * to them; one that ends without is forgotten after some seconds.
 */
export async function joinPeers(options: PeersOptions): Promise<{ readonly alone: boolean; leave(): Promise<void> }> {
  const { queue, engine, logger, signal, attempt_ms, announce_ms = ANNOUNCE_MS } = options;
  const { monotonic = () => performance.now() } = options;
  const me = randomUUID();
  /** By id, when it was last heard; this one too. */
  const heard_at = new Map<string, number>([[me, monotonic()]]);
  /** From this checker's clock to the one that turns go by: the furthest of all, which who leaves hands on. */
  let ahead_ms = 0;
  const clock = () => monotonic() + ahead_ms;
  let alive: readonly string[] = [me];
  let turns = '';

  const probes = new SharedProbes({
    me,
    probes: engine.probes,
    say: (subject, body) => void say(subject, body),
    attempt_ms,
    look_ms: announce_ms,
    now: monotonic,
  });
  const peers: Peers = {
    part(host, limit) {
      const { turn, is_changing } = turnAt(clock(), attempt_ms);
      const now = partOf(host, me, alive, limit, turn);
      return is_changing ? Math.min(now, partOf(host, me, alive, limit, turn - 1)) : now;
    },
    held: (host, wait_ms) => void say(HELD_SUBJECT, { id: me, host, wait_ms }),
    probe: (request) => probes.probe(request),
    probed: (folder, answer) => probes.probed(folder, answer),
  };

  async function say(subject: string, body: Alive | Held | ProbeRequest | Probed | Suspected): Promise<void> {
    try {
      await queue.broadcast(subject, body);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the other checkers could not be told');
    }
  }

  function hear({ id, leaves, clock_ms = 0 }: Alive): void {
    ahead_ms = Math.max(ahead_ms, clock_ms - monotonic());
    if (leaves) {
      if (id !== me && heard_at.delete(id)) share();
      return;
    }
    const is_new = !heard_at.has(id);
    heard_at.set(id, monotonic());
    if (!is_new) return;
    share();
    // It is to know at once whom it shares with, and what not to ask for.
    void announce();
    void tellSuspects();
  }

  function share(): void {
    alive = [...heard_at.keys()];
    engine.share(alive.length > 1 ? peers : null);
    probes.share(alive);
  }

  const announce = () => say(ALIVE_SUBJECT, { id: me, leaves: false, clock_ms: clock() });

  async function tellSuspects(): Promise<void> {
    const urls = engine.suspects.slice(-MAX_TOLD_SUSPECTS);
    if (urls.length > 0) await say(SUSPECT_SUBJECT, { urls });
  }

  function look(): void {
    const oldest = monotonic() - FORGOTTEN_AFTER * announce_ms;
    // Who does not hear itself hears nobody: that says nothing of the others.
    const gone = heard_at.get(me)! < oldest ? [] : [...heard_at].filter(([, at]) => at < oldest);
    for (const [id] of gone) heard_at.delete(id);
    const { turn, is_changing } = turnAt(clock(), attempt_ms);
    const turned = `${turn} ${is_changing}`;
    if (gone.length > 0 || (turned !== turns && alive.length > 1)) share();
    turns = turned;
    probes.look();
  }

  await queue.listen(ALIVE_SUBJECT, (body) => hear(body as Alive), signal);
  await queue.listen(
    HELD_SUBJECT,
    (body) => {
      const { id, host, wait_ms } = body as Held;
      if (id !== me) engine.hold(host, wait_ms);
    },
    signal,
  );
  await queue.listen(
    SUSPECT_SUBJECT,
    (body) => {
      for (const url of (body as Suspected).urls) engine.suspect(url);
    },
    signal,
  );
  await queue.listen(PROBE_SUBJECT, (body) => probes.hearWanted(body as ProbeRequest), signal);
  await queue.listen(PROBED_SUBJECT, (body) => probes.hearProbed(body as Probed), signal);
  await announce();
  await tellSuspects();
  const timer = setInterval(() => {
    look();
    void announce();
  }, announce_ms);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  await pause(announce_ms * ANSWERED_WITHIN, signal);
  if (alive.length > 1) await pause(2 * announce_ms, signal);
  return {
    get alone() {
      return alive.length === 1;
    },
    leave: () => say(ALIVE_SUBJECT, { id: me, leaves: true, clock_ms: clock() }),
  };
}

function turnAt(now: number, attempt_ms: number): { turn: number; is_changing: boolean } {
  const turn_ms = TURN_ATTEMPTS * attempt_ms;
  return { turn: Math.floor(now / turn_ms), is_changing: now % turn_ms < attempt_ms };
}
