// The messages and broadcasts that processes and checkers exchange over the queue.
import type { Position } from '../events/event-store.ts';

export const WORK_SUBJECT = 'checks';

/** Consecutive URLs of one batch; the log may have outcomes of some of them. A credit ceiling or the size limit of a message may cut the batch. */
export interface WorkRange {
  batch: number;
  /** Index in the job of the first of `urls`. */
  from_index: number;
  urls: string[];
  /** The log may have outcomes of these URLs: the checker asks it first. */
  is_begun?: boolean;
}

/** A message: ranges of one job. Several of them may be of one batch, whose other URLs are for other checkers. */
export interface Work {
  owner_id: string;
  job_id: string;
  /** Revision of the job's stream when the dispatcher published the message. A later stop makes the message void. */
  revision: number;
  /** For checkers of before sets of URLs, beside which the processes may run for the time of a deploy. */
  batch_size?: number;
  /** The dispatcher had seen the job's events up to this position: any later stop comes after it in the log. */
  position: Position;
  ranges: WorkRange[];
  /** Whether the event that created the job has options, which the checker reads there: they may hold credentials. */
  has_options?: boolean;
  /** Of the step that listed the job's URLs, where steps are traced. */
  traceparent?: string;
  /** The view in which the hosts of these URLs are the receiver's. Missing in work for whoever takes it. */
  view?: number;
}

/** The queue drops a message after this many deliveries. Crashes use them up, so the checker counts failures itself. */
export const MAX_DELIVERIES = 1000;

export const ALIVE_SUBJECT = 'checkers.alive';
export const MEMBERS_SUBJECT = 'checkers.members';
export const IN_HAND_SUBJECT = 'batches.in_hand';
export const SUSPECT_SUBJECT = 'checkers.suspects';

/** The subject of the work for one checker. Work on `WORK_SUBJECT` is for whichever takes it. */
export const workSubjectOf = (checker_id: string): string => `${WORK_SUBJECT}.${checker_id}`;

/** A checker announces that it is alive, or that it leaves. */
export interface Alive {
  id: string;
  leaves: boolean;
  /** The number of checks that the sender can have in flight. */
  slots?: number;
  /** The sender takes work from a subject of its own. Checkers of an older version do not. */
  has_subject?: boolean;
  /** The sender's monotonic clock, in ms. */
  sent_ms?: number;
  /** The sender starts no request before it hears that it is still a member. */
  is_cut_off?: boolean;
  /** The latest view of which the sender knows to be a member; 0 for one that joins. */
  view?: number;
  /** The latest view of which the sender has nothing in hand that is another one's. */
  settled?: number;
  /** The latest view that the sender has heard of. The next dispatcher learns by it who was there. */
  latest?: Members;
}

/** The checkers among which the dispatcher divides the hosts. It broadcasts them each second; a view replaces those with lower numbers. */
export interface Members {
  view: number;
  ids: readonly string[];
  /** Some of them are of an older version: all take work from `WORK_SUBJECT`, whoever's hosts it has. */
  is_mixed: boolean;
}

/** The batches that a checker works on, broadcast regularly. */
export interface InHand {
  checker_id: string;
  jobs: {
    job_id: string;
    batches: number[];
    /** Number of outcomes found in these batches, recorded or not: it changes while the job makes progress. */
    found: number;
    /** Whether checks of the job run; false when it only waits for the log. */
    is_checking: boolean;
  }[];
}

/** URLs whose answers made a checker hang or crash. */
export interface Suspected {
  urls: readonly string[];
}
