// The port of the work queue: hints of what to do, at least once. Work lost in it is found by a sweeper in
// `processes/` and published again. Adapters: `adapters/queue/{sqlite,nats}`; their promises are the contract suite
// in `test/contracts/queue.ts`.

export interface Message {
  /** A message whose id was published in the last two minutes is dropped. */
  id: string;
  body: unknown;
}

export interface Delivery<Body = unknown> {
  id: string;
  body: Body;
  /** 1 on the first delivery. */
  delivery: number;
  /** Done: never delivered again. */
  ack(): Promise<void>;
  /** Not done: delivered again, after `delay_ms` (0 unless told), unless this was the last delivery. */
  nak(delay_ms?: number): Promise<void>;
  /** Still at it: starts the time to redelivery afresh. */
  working(): Promise<void>;
}

export interface ConsumeOptions {
  /** After this long without ack, nak or working, a message is delivered again, to any consumer. */
  ack_wait_ms: number;
  /** A message is dropped after this many deliveries. */
  max_deliveries: number;
  signal: AbortSignal;
}

/** Pulls work: every message goes to one consumer at a time. */
export interface Consumer<Body = unknown> {
  /** Up to `limit` messages: at once what is there, else the first to come; empty after `wait_ms` or when closed. */
  pull(limit: number, wait_ms: number): Promise<Delivery<Body>[]>;
}

export interface Queue {
  /** What the body of a message may take as JSON in UTF-8. */
  readonly max_body_bytes: number;
  /** All are stored when it returns. Subjects are dotted words of `[a-z0-9_-]`. */
  publish(subject: string, messages: readonly Message[]): Promise<void>;
  /** Consumers of one subject share its messages, over all processes; `options` must be equal for one subject. */
  consume<Body = unknown>(subject: string, options: ConsumeOptions): Promise<Consumer<Body>>;
  /** How many messages of the subject wait for their first or next delivery. */
  depth(subject: string): Promise<number>;
  /** To everyone who listens now; may be lost. */
  broadcast(subject: string, body: unknown): Promise<void>;
  /** Calls `heard` for each broadcast until `signal` aborts. */
  listen(subject: string, heard: (body: unknown) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
