// The other checkers. Each broadcasts every second that it is alive, so that all of them divide a host's limit by the same
// number and agree on the owner of each probe.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { pause } from '../time/pause.ts';
import { shareOf } from './budget.ts';
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
  /** Time limit of one attempt. A checker that lost its share of a host may have requests in flight for this long. */
  attempt_ms: number;
  /** Time between two announcements. */
  announce_ms?: number;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  /** The waits for the other checkers: until they have answered, and until they have reduced their shares. */
  waitForPeers?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** How long the owner of a probe waits for the answer of a checker that may know it. */
  answer_wait_ms?: number;
}

const ANNOUNCE_MS = 1000;
/** Suspect URLs announced, the latest ones, so that a message stays small. */
const MAX_ANNOUNCED_SUSPECTS = 20;
/** A checker that missed this many announcements counts as gone. */
const FORGOTTEN_AFTER_ANNOUNCEMENTS = 5;
/** A checker that missed this many of its own is cut off: it starts no request, because the others may soon count it as gone. */
const CUT_OFF_AFTER_ANNOUNCEMENTS = 4;
/** Time in announcements in which the others reduce their shares for a checker that joins or comes back. */
const REDUCED_AFTER_ANNOUNCEMENTS = 2;
/**
 * Share of `announce_ms` for which a new checker waits for other checkers before it starts alone. The wait begins when its own
 * announcement has come back, because a slow queue or a busy machine delays the answers as much.
 */
const FIRST_WAIT_SHARE = 1 / 4;
/** Length of a turn, in attempts. In the first attempt of a turn a checker has the smaller of its old and new shares. */
const TURN_ATTEMPTS = 4;

/**
 * Joins the other checkers. Resolves when they know of this checker and have reduced their shares. `leave` returns its share
 * to them; they forget a checker that ends without `leave` after some seconds.
 */
export async function joinPeers(options: PeersOptions): Promise<{ readonly alone: boolean; leave(): Promise<void> }> {
  const { queue, engine, logger, signal, attempt_ms, announce_ms = ANNOUNCE_MS } = options;
  const { monotonic = () => performance.now(), waitForPeers = pause, answer_wait_ms } = options;
  const me = randomUUID();
  /** When each checker last announced itself, by id, this checker included. */
  const last_seen_at = new Map<string, number>([[me, monotonic()]]);
  /** Milliseconds from this checker's clock to the turn clock, the furthest clock of all checkers. */
  let ahead_ms = 0;
  const clock = () => monotonic() + ahead_ms;
  let alive: readonly string[] = [me];
  let reach: 'reached' | 'cut_off' | 'returning' = 'reached';
  let last_turn_key = '';
  const { promise: heard_myself, resolve: heardMyself } = Promise.withResolvers<void>();

  const probes = new SharedProbes({
    me,
    probes: engine.probes,
    broadcast: (subject, body) => void broadcast(subject, body),
    attempt_ms,
    sweep_ms: announce_ms,
    now: monotonic,
    ...(answer_wait_ms !== undefined && { answer_wait_ms }),
  });
  const peers: Peers = {
    shareOf(host, limit) {
      if (reach !== 'reached') return 0;
      const { turn, is_changing } = turnAt(clock(), attempt_ms);
      const now = shareOf(host, me, alive, limit, turn);
      return is_changing ? Math.min(now, shareOf(host, me, alive, limit, turn - 1)) : now;
    },
    held: (host, wait_ms) => void broadcast(HELD_SUBJECT, { id: me, host, wait_ms }),
    probe: (request) => probes.probe(request),
    probed: (folder, answer) => probes.probed(folder, answer),
  };

  async function broadcast(subject: string, body: Alive | Held | ProbeRequest | Probed | Suspected): Promise<void> {
    try {
      await queue.broadcast(subject, body);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the queue did not take a broadcast to the checkers');
    }
  }

  function receiveAlive({ id, leaves, clock_ms = 0 }: Alive): void {
    ahead_ms = Math.max(ahead_ms, clock_ms - monotonic());
    if (leaves) {
      if (id !== me && last_seen_at.delete(id)) aliveChanged();
      return;
    }
    if (id === me) {
      heardMyself();
      if (reach === 'cut_off') void comeBack();
    }
    const is_new = !last_seen_at.has(id);
    last_seen_at.set(id, monotonic());
    if (!is_new) return;
    aliveChanged();
    // The new checker learns at once of this one, and of the URLs that it must not request.
    void announce();
    void announceSuspects();
  }

  function aliveChanged(): void {
    alive = [...last_seen_at.keys()];
    engine.share(alive.length > 1 ? peers : null);
    probes.setAlive(alive);
  }

  async function comeBack(): Promise<void> {
    reach = 'returning';
    await waitForPeers(REDUCED_AFTER_ANNOUNCEMENTS * announce_ms, signal);
    reach = 'reached';
    // It may be cut off again, as after a stop of the process, and others may be gone.
    sweep();
  }

  const announce = () =>
    broadcast(ALIVE_SUBJECT, { id: me, leaves: false, clock_ms: clock(), slots: engine.running + engine.free });

  async function announceSuspects(): Promise<void> {
    const urls = engine.suspects.slice(-MAX_ANNOUNCED_SUSPECTS);
    if (urls.length > 0) await broadcast(SUSPECT_SUBJECT, { urls });
  }

  function sweep(): void {
    const now = monotonic();
    const missed = (at: number, announcements: number) => at < now - announcements * announce_ms;
    const is_cut_off = missed(last_seen_at.get(me)!, CUT_OFF_AFTER_ANNOUNCEMENTS);
    if (is_cut_off && reach === 'reached' && alive.length > 1) reach = 'cut_off';
    // That a checker hears nobody while it is cut off says nothing of the others.
    const gone =
      reach === 'reached'
        ? [...last_seen_at].filter(([id, at]) => id !== me && missed(at, FORGOTTEN_AFTER_ANNOUNCEMENTS))
        : [];
    for (const [id] of gone) last_seen_at.delete(id);
    const { turn, is_changing } = turnAt(clock(), attempt_ms);
    const turn_key = `${turn} ${is_changing} ${reach}`;
    if (gone.length > 0 || (turn_key !== last_turn_key && alive.length > 1)) aliveChanged();
    last_turn_key = turn_key;
    probes.sweep();
  }

  await queue.listen(ALIVE_SUBJECT, (body) => receiveAlive(body as Alive), signal);
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
  await queue.listen(PROBE_SUBJECT, (body) => probes.receiveRequest(body as ProbeRequest), signal);
  await queue.listen(PROBED_SUBJECT, (body) => probes.receiveAnswer(body as Probed), signal);
  await announce();
  await announceSuspects();
  const timer = setInterval(() => {
    sweep();
    void announce();
  }, announce_ms);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  await Promise.race([heard_myself, pause(FORGOTTEN_AFTER_ANNOUNCEMENTS * announce_ms, signal)]);
  await waitForPeers(announce_ms * FIRST_WAIT_SHARE, signal);
  if (alive.length > 1) await waitForPeers(REDUCED_AFTER_ANNOUNCEMENTS * announce_ms, signal);
  return {
    get alone() {
      return alive.length === 1;
    },
    leave: () => broadcast(ALIVE_SUBJECT, { id: me, leaves: true, clock_ms: clock() }),
  };
}

function turnAt(now: number, attempt_ms: number): { turn: number; is_changing: boolean } {
  const turn_ms = TURN_ATTEMPTS * attempt_ms;
  return { turn: Math.floor(now / turn_ms), is_changing: now % turn_ms < attempt_ms };
}
