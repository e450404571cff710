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

/** A message: ranges of one job, each of a different batch. */
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
}

/** The queue drops a message after this many deliveries. Crashes use them up, so the checker counts failures itself. */
export const MAX_DELIVERIES = 1000;

export const ALIVE_SUBJECT = 'checkers.alive';
export const IN_HAND_SUBJECT = 'batches.in_hand';
export const HELD_SUBJECT = 'hosts.held';
export const SUSPECT_SUBJECT = 'checkers.suspects';
export const PROBE_SUBJECT = 'probes.wanted';
export const PROBED_SUBJECT = 'probes.answered';

/** A checker announces that it is alive, or that it leaves. */
export interface Alive {
  id: string;
  leaves: boolean;
  /** The sender's turn clock, in ms. Every checker follows the furthest clock. Checkers of an older version omit it. */
  clock_ms?: number;
  /** The number of checks that the sender can have in flight. */
  slots?: number;
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

/** A host asked a checker, by Retry-After, to send no request for `wait_ms`. */
export interface Held {
  id: string;
  host: string;
  wait_ms: number;
}

/** The answer to a probe. `sketch` lists the numbers of a `Sketch`. */
export interface Probed {
  folder: string;
  status: number | null;
  final_path: string;
  sketch: number[] | null;
}
