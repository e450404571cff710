// What processes and checkers say to each other over the queue.

export const WORK_SUBJECT = 'checks';
export const STOP_SUBJECT = 'jobs.stopped';

/** A range of a job's URLs to check: the whole of a batch, or what a ceiling left of it. */
export interface Work {
  job_id: string;
  batch: number;
  /** Of the batch's first URL in the job. */
  batch_from_index: number;
  /** Of the first of `urls` in the job. */
  from_index: number;
  urls: string[];
  /** Of the job's stream when this was published: a stop says up to which revision work is void. */
  revision: number;
}

/** The job is no longer processing as of `revision`. */
export interface Stop {
  job_id: string;
  revision: number;
  /** Whether batches in hand are dropped too (cancelled, failed, deleted) or finished (paused). */
  drops_in_hand: boolean;
}

/** A batch that this many checkers have let down fails its job. */
export const MAX_DELIVERIES = 5;

export const ALIVE_SUBJECT = 'checkers.alive';
export const HELD_SUBJECT = 'hosts.held';
export const PROBE_SUBJECT = 'probes.wanted';
export const PROBED_SUBJECT = 'probes.answered';

/** A checker is there, or leaves. */
export interface Alive {
  id: string;
  leaves: boolean;
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
