// A checker among the others: it announces itself every second, hears from the dispatcher which checkers there are, and releases the hosts
// that have moved to another one.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Engine } from './engine/engine.ts';
import type { Queue } from './queue.ts';
import { Standing } from './standing.ts';
import { ALIVE_SUBJECT, type Alive, MEMBERS_SUBJECT, type Members, SUSPECT_SUBJECT, type Suspected } from './work.ts';

export interface MembershipOptions {
  queue: Pick<Queue, 'broadcast' | 'listen'>;
  engine: Engine;
  logger: Logger;
  signal: AbortSignal;
  /** Time between two announcements. */
  announce_ms?: number;
  /** Milliseconds that never go back and that go on while the machine sleeps. */
  monotonic: () => number;
}

export type Membership = Awaited<ReturnType<typeof joinCheckers>>;

const ANNOUNCE_MS = 1000;
/** Between two looks at requests in flight to hosts that have moved. */
const RELEASE_MS = 100;
/** Between two looks at whether requests may start. */
const LOOK_MS = 20;
/** Suspect URLs announced, the latest ones, so that a message stays small. */
const MAX_ANNOUNCED_SUSPECTS = 20;

/** Joins the other checkers. The dispatcher gives it hosts when their former checkers have released them. */
export async function joinCheckers(options: MembershipOptions) {
  const { queue, engine, logger, signal, announce_ms = ANNOUNCE_MS, monotonic } = options;
  let standing = new Standing(randomUUID(), monotonic());
  let expelled = new AbortController();
  const known = new Set<string>();
  /** Each request asks, and the clock that goes on while the machine sleeps is dear. */
  const standing_at = { looked_at: Number.NEGATIVE_INFINITY, may_ask: true };
  function mayAsk(): boolean {
    const now = performance.now();
    if (now - standing_at.looked_at > LOOK_MS) {
      Object.assign(standing_at, { looked_at: now, may_ask: standing.mayAsk(monotonic()) });
    }
    return standing_at.may_ask;
  }
  const ownership = { owns: (host: string) => standing.owns(host), mayAsk };

  async function broadcast(subject: string, body: Alive | Suspected): Promise<void> {
    try {
      await queue.broadcast(subject, body);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the queue did not take a broadcast of the checker');
    }
  }

  const announce = () => {
    const { id, settled, latest, named_in: view } = standing;
    const slots = engine.running + engine.free;
    const sent_ms = monotonic();
    const is_cut_off = !standing.mayAsk(sent_ms);
    return broadcast(ALIVE_SUBJECT, {
      ...{ id, leaves: false, slots, has_subject: true, sent_ms, is_cut_off, view, settled, latest },
    });
  };
  async function announceSuspects(): Promise<void> {
    const urls = engine.suspects.slice(-MAX_ANNOUNCED_SUSPECTS);
    if (urls.length > 0) await broadcast(SUSPECT_SUBJECT, { urls });
  }

  function receiveAlive({ id, leaves, sent_ms, latest }: Alive): void {
    if (latest) standing.learn(latest);
    if (id === standing.id) {
      if (sent_ms !== undefined) standing.observeItself(sent_ms);
    } else if (leaves) known.delete(id);
    else if (!known.has(id)) {
      known.add(id);
      // The new checker learns at once of the URLs that it must not request.
      void announceSuspects();
    }
  }

  function receiveMembers(members: Members): void {
    const news = standing.observe(members, monotonic());
    if (news === 'expelled') {
      logger.warn(
        'the other checkers have taken this one for dead: it gives up what it has in hand, and joins them again',
      );
      engine.release(() => true, true);
      standing = new Standing(randomUUID(), monotonic(), standing.latest);
      expelled.abort();
      expelled = new AbortController();
    }
    if (news !== 'same') {
      engine.share(ownership);
      release();
    }
    // A new dispatcher asks who is there.
    if (news !== 'same' || members.view === 0) void announce();
  }

  function release(): void {
    if (!standing.isUnsettled) return;
    const { is_mixed } = standing.members;
    const isMoved = (host: string) => !is_mixed && !standing.owns(host);
    if (engine.release(isMoved, standing.isLate(monotonic())) > 0) return;
    standing.settle();
    void announce();
  }

  await queue.listen(ALIVE_SUBJECT, (body) => receiveAlive(body as Alive), signal);
  await queue.listen(MEMBERS_SUBJECT, (body) => receiveMembers(body as Members), signal);
  const suspect = (body: unknown) => {
    for (const url of (body as Suspected).urls) engine.suspect(url);
  };
  await queue.listen(SUSPECT_SUBJECT, suspect, signal);
  await announce();
  await announceSuspects();
  const announcing = setInterval(() => void announce(), announce_ms);
  const releasing = setInterval(release, RELEASE_MS);
  const stop = () => {
    clearInterval(announcing);
    clearInterval(releasing);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return {
    /** Under its present name. */
    get standing(): Standing {
      return standing;
    },
    /** Aborts when the others have taken this checker for dead: it then has nothing in hand, and another name. */
    get expelled(): AbortSignal {
      return expelled.signal;
    },
    /** Says that nothing is in hand any more, so that others get its hosts at once. */
    leave: () => broadcast(ALIVE_SUBJECT, { id: standing.id, leaves: true }),
  };
}
