// Runs the dispatcher: a pass when the read models move on or the queue has room, and what it hears of the checkers.

import type { Queue } from '../checkers/queue.ts';
import { ALIVE_SUBJECT, type Alive, MEMBERS_SUBJECT, type Members } from '../checkers/work.ts';
import type { Position } from '../events/event-store.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { pause } from '../time/pause.ts';
import type { Dispatcher } from './dispatch.ts';

/** The least time between two passes. */
const SPACING_MS = 10;
/** The interval between two looks at a full queue's depth. */
const DEPTH_LOOK_MS = 20;
/** The interval between two searches for lost work and for changes among the checkers, which read no store. */
const LOOK_MS = 500;
/** How long it waits for the first checker to answer, which may still be connecting to the queue. */
const FIRST_ANSWER_MS = 3_000;
/** How long it waits after that for one that knows who was there before. */
const OTHER_ANSWERS_MS = 500;
/** A question: each checker announces itself at once. */
const WHO_IS_THERE: Members = { view: 0, ids: [], is_mixed: false };

/** Runs until `signal` aborts. Rejects with the errors of the stores. */
export async function runDispatcher(
  dispatcher: Dispatcher,
  { readmodels, queue }: { readmodels: ReadModels; queue: Queue },
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const answered = new AbortController();
  const inherited = new AbortController();
  const hearAlive = (body: unknown) => {
    const alive = body as Alive;
    dispatcher.observeAlive(alive);
    answered.abort();
    if (alive.latest && alive.latest.view > 0) inherited.abort();
  };
  try {
    await queue.listen(ALIVE_SUBJECT, hearAlive, ends);
    await queue.listen(MEMBERS_SUBJECT, (body) => dispatcher.observeMembers(body as Members), ends);
    await queue.broadcast(MEMBERS_SUBJECT, WHO_IS_THERE);
    await pause(FIRST_ANSWER_MS, AbortSignal.any([ends, answered.signal]));
    await pause(OTHER_ANSWERS_MS, AbortSignal.any([ends, inherited.signal]));
    let seen: Position | null = null;
    let flips_seen = 0;
    for (let wait_ms = 0; !signal.aborted; ) {
      const position: Position = await readmodels.moved(seen, wait_ms, signal);
      const { flips } = readmodels;
      const { more } = await dispatcher.pass({ has_moved: position !== seen, has_flipped: flips !== flips_seen });
      onPass();
      seen = position;
      flips_seen = flips;
      wait_ms = more ? DEPTH_LOOK_MS : LOOK_MS;
      await pause(SPACING_MS, signal);
    }
  } finally {
    over.abort();
  }
}
