// Holds parts of the log back while nobody reads the documents: their inserts are stored at once, and one transaction writes what
// several parts have changed. See docs/decisions/0112-counts-of-many-results.md.
import type { Position, SubscriptionBatch } from '../events/event-store.ts';
import { type Documents, TransactionTooLarge } from '../readmodels/documents.ts';
import { inGeneration } from '../readmodels/projection-state.ts';
import { checkedIn, type UrlsOf } from './checked-urls.ts';
import type { Beside, Commit } from './fence.ts';
import { type Inserts, insertAhead } from './insert.ts';
import type { Gathered, Read, Target } from './projection.ts';
import { guarded, NotTaken, openIn, type Reached } from './take-events.ts';

/** A crash repeats at most as many. */
const MAX_HELD_URLS = 500_000;
/** Keeps the transaction short, and few documents in memory. */
const MAX_HELD_DOCUMENTS = 20_000;

export interface HeldOptions {
  documents: Documents;
  /** Null: no part is held. */
  beside: () => Beside | null;
  targets: () => readonly Target[];
  reached: Reached;
  inTurn: (work: (commit: Commit) => Promise<void>) => Promise<void>;
  /** Takes the events from the checkpoint to a position, inclusive, without holding them. */
  takeAgain: (until: Position) => Promise<void>;
}

export interface HeldParts {
  /** Whether it took the part. If not, it holds nothing any more, and the caller takes the part. */
  add(part: SubscriptionBatch, urls_of: UrlsOf): Promise<boolean>;
  /** Writes what it holds. */
  write(): Promise<void>;
}

interface Held {
  target: Target;
  inserts: Inserts;
  gathered: Gathered;
  last: SubscriptionBatch;
  urls: number;
}

export function heldParts({ documents, beside, targets, reached, inTurn, takeAgain }: HeldOptions): HeldParts {
  let held: Held | null = null;

  /**
   * When a projection throws, or the transaction is too large, what is held is given up: its events are taken one part after the other,
   * which parks the one that throws.
   */
  async function attempt({ target, inserts, last }: Held, work: () => Promise<void>): Promise<void> {
    try {
      await guarded(target, work);
    } catch (error) {
      held = null;
      await inserts.stored().catch(() => {}); // `guarded` has thrown the first error
      if (!(error instanceof NotTaken || error instanceof TransactionTooLarge)) throw error;
      await takeAgain(last.position);
    }
  }

  async function write(): Promise<void> {
    if (!held) return;
    const { target, inserts, gathered, last } = held;
    await attempt(held, async () => {
      await inserts.stored();
      await inTurn(async (commit) => {
        const is_there = targets().some(({ projection, generation }) => isSame(target, projection.name, generation));
        if (!is_there) throw new Error('another generation has taken the place of the one that was read');
        await commit(async (inside) => {
          await gathered.save(openIn(inside, target.generation));
          return reached(inside, last);
        });
      });
    });
    held = null;
  }

  return {
    write,
    async add(part, urls_of) {
      const ahead = beside();
      const target = ahead && gatherer(targets(), part);
      if (!target) {
        await write();
        return false;
      }
      if (held && !isSame(held.target, target.projection.name, target.generation)) await write();
      const inserts = held?.inserts ?? insertAhead(ahead, target.generation);
      const read: Read = (spec) => documents.reading(inGeneration(spec, target.generation));
      const gathered = held?.gathered ?? target.projection.gathers!.begin(read, inserts);
      const urls = part.events.reduce((sum, event) => sum + checkedIn(event), held?.urls ?? 0);
      held = { target, inserts, gathered, last: part, urls };
      await attempt(held, () => gathered.add(part.events, urls_of));
      if (held && (urls >= MAX_HELD_URLS || gathered.size() >= MAX_HELD_DOCUMENTS)) await write();
      return true;
    },
  };
}

const isSame = ({ projection, generation }: Target, name: string, other: number) =>
  projection.name === name && generation === other;

/** The target that gathers all events of the part. None if another one takes some of them, or if there are none. */
function gatherer(targets: readonly Target[], { events }: SubscriptionBatch): Target | null {
  const types = [...new Set(events.map(({ type }) => type))];
  const [target, ...others] = targets.filter(({ projection }) => types.some((type) => projection.types.includes(type)));
  const gathers = target?.projection.gathers;
  return gathers && others.length === 0 && types.every((type) => gathers.types.includes(type)) ? target : null;
}
