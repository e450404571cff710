// How long each store outside of this process gets, in milliseconds. The guide "What happens when" shows the same table, which a test compares.

export interface TimeLimits {
  /** A call has failed when it has no answer after this long. */
  answer_ms: number;
  /** A connection that says nothing is replaced after this long. */
  silent_ms: number;
  /** The longest wait between two tries to connect. */
  longest_wait_ms: number;
  /** A request of a user fails with `unavailable` after this long. */
  unavailable_after_ms: number;
}

export const TIME_LIMITS = {
  EventStoreDB: { answer_ms: 5_000, silent_ms: 5_000, longest_wait_ms: 2_000, unavailable_after_ms: 15_000 },
  /** `silent_ms`: a heartbeat and the wait for its answer. */
  MongoDB: { answer_ms: 5_000, silent_ms: 5_000, longest_wait_ms: 2_000, unavailable_after_ms: 15_000 },
  /** `silent_ms`: the client reconnects at the third ping when the two before it have no answer. */
  NATS: { answer_ms: 2_000, silent_ms: 9_000, longest_wait_ms: 2_000, unavailable_after_ms: 10_000 },
  /** One try of a request; there are three. */
  S3: { answer_ms: 10_000, silent_ms: 20_000, longest_wait_ms: 3_000, unavailable_after_ms: 30_000 },
} as const satisfies Readonly<Record<string, TimeLimits>>;
