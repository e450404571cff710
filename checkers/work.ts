// What processes and checkers say to each other over the queue.
import type { Position } from '../events/event-store.ts';

export const WORK_SUBJECT = 'checks';

/** Consecutive URLs of one batch: the whole of it, or what a ceiling or the size of a message leaves. */
export interface WorkRange {
  batch: number;
  /** Of the first of `urls` in the job. */
  from_index: number;
  urls: string[];
}

/** What one message asks for: ranges of one job, of different batches. */
export interface Work {
  owner_id: string;
  job_id: string;
  /** Of the job's stream when this was published: work of a revision before a stop's is void. */
  revision: number;
  batch_size: number;
  /** Up to where whoever published this had seen the job's events: what stopped it later comes after it in the log. */
  position: Position;
  ranges: WorkRange[];
}

/**
 * Deliveries after which the queue itself drops a message. So many are spent by processes that were killed, for which no
 * batch is to blame: a batch that fails is counted by the checker.
 */
export const MAX_DELIVERIES = 1000;

export const ALIVE_SUBJECT = 'checkers.alive';
export const IN_HAND_SUBJECT = 'batches.in_hand';
export const HELD_SUBJECT = 'hosts.held';
export const SUSPECT_SUBJECT = 'checkers.suspects';
export const PROBE_SUBJECT = 'probes.wanted';
export const PROBED_SUBJECT = 'probes.answered';

/** A checker is there, or leaves. */
export interface Alive {
  id: string;
  leaves: boolean;
  /** The sender's turn clock, in milliseconds: all follow the one that is furthest. Absent from checkers of an older version. */
  clock_ms?: number;
}

/** Which batches a checker works on, said regularly. */
export interface InHand {
  checker_id: string;
  jobs: {
    job_id: string;
    batches: number[];
    /** Of these batches, so many outcomes are there or recorded: it changes as long as the job goes on. */
    found: number;
    /** Whether some of its URLs are being checked; false when all that is missing is the log's answer. */
    is_checking: boolean;
  }[];
}

/** URLs over whose answers a checker hung or ended. */
export interface Suspected {
  urls: readonly string[];
}

/** A checker was told that a host wants nothing for so long. */
export interface Held {
  id: string;
  host: string;
  wait_ms: number;
}

/** What a probe found; a sketch as its numbers. */
export interface Probed {
  folder: string;
  status: number | null;
  final_path: string;
  sketch: number[] | null;
}
