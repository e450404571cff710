// The port of the work queue, with at-least-once delivery. The dispatcher in `processes/` publishes lost work again.
// Adapters: `adapters/queue/{sqlite,nats}`; the contract suite in `test/contracts/queue.ts` tests each of them.

export interface Message {
  /** The queue drops a message whose id was published in the last two minutes. */
  id: string;
  body: unknown;
}

export interface Delivery<Body = unknown> {
  id: string;
  body: Body;
  /** Number of this delivery, from 1. */
  delivery: number;
  /** Acknowledges the message: the queue never delivers it again. */
  ack(): Promise<void>;
  /** Asks for redelivery after `delay_ms` (default 0). The queue drops the message if this was the last delivery. */
  nak(delay_ms?: number): Promise<void>;
  /** Restarts `ack_wait_ms` for a message in progress. */
  working(): Promise<void>;
}

export interface ConsumeOptions {
  /** The queue delivers a message again, to any consumer, after this long without ack, nak or working. */
  ack_wait_ms: number;
  /** The queue drops a message after this many deliveries. */
  max_deliveries: number;
  signal: AbortSignal;
}

/** A consumer of a subject. The queue delivers each message to one consumer at a time. */
export interface Consumer<Body = unknown> {
  /** Returns up to `limit` waiting messages, else the first new one; empty after `wait_ms` or when the queue is closed. */
  pull(limit: number, wait_ms: number): Promise<Delivery<Body>[]>;
}

export interface Queue {
  /** Size limit of a message's body, as JSON in UTF-8. */
  readonly max_body_bytes: number;
  /** Resolves when the queue has stored all messages. Subjects are dotted words of `[a-z0-9_-]`. */
  publish(subject: string, messages: readonly Message[]): Promise<void>;
  /** Consumers of one subject share its messages across processes; all of them pass equal `options`. */
  consume<Body = unknown>(subject: string, options: ConsumeOptions): Promise<Consumer<Body>>;
  /** Deletes the subject's messages, those in progress too. */
  drop(subject: string): Promise<void>;
  /** Number of messages of the subject that wait for their first or next delivery. */
  depth(subject: string): Promise<number>;
  /** Goes up when messages that were stored may be lost. Missing in a queue that loses none without the process. */
  losses?(): Promise<number>;
  /** Sends `body` to the current listeners, at most once. */
  broadcast(subject: string, body: unknown): Promise<void>;
  /** Calls `received` for each broadcast until `signal` aborts. */
  listen(subject: string, received: (body: unknown) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
