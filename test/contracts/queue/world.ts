// The fixture that an adapter brings, and what the tests of the contract share.
import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { ConsumeOptions, Consumer, Delivery, Message, Queue } from '../../../checkers/queue.ts';
import { startPatientTimer } from '../../support/patient-clock.ts';

export interface QueueFixture {
  /** Opens another instance over the same data, as another process would. */
  open(): Promise<Queue>;
  /** Kills the server and starts it again; where the queue has no server, all instances end. */
  restart(): Promise<void>;
  /** Removes the data; instances are closed already. */
  remove(): Promise<void>;
}

/** The permitted differences of adapters. */
export interface QueueTraits {
  /** `outlived`: instances continue after a restart. `end`: they end, and new ones find their data. `none`: no restart is possible. */
  restart: 'outlived' | 'end' | 'none';
  /** Whether `depth` counts messages that wait for another delivery after nak, besides the new ones. */
  depth_after_nak: 'counted' | 'unknown';
}

export type Sentence = (title: string, run: (t: ExecutionContext, world: World) => Promise<void>) => void;

/** Longer than any message takes to arrive, on the busiest machine. */
export const LONG_MS = 60_000;
/** Far more than anything takes that does not wait for its time to be over, and far less than `LONG_MS`. */
export const SOON_MS = 10_000;

/** The instances of one test. */
export class World {
  readonly #fixture: QueueFixture;
  readonly #queues: Queue[] = [];
  readonly #ending = new AbortController();

  constructor(fixture: QueueFixture) {
    this.#fixture = fixture;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  async open(): Promise<Queue> {
    const queue = await this.#fixture.open();
    this.#queues.push(queue);
    return queue;
  }

  restart(): Promise<void> {
    return this.#fixture.restart();
  }

  consume(queue: Queue, subject: string, options: Partial<ConsumeOptions> = {}): Promise<Consumer> {
    return queue.consume(subject, { ack_wait_ms: 30_000, max_deliveries: 5, signal: this.signal, ...options });
  }

  /** Gives pulls the time to begin their wait. Fails when a pull ends meanwhile. */
  async settled(...waiting: Promise<Delivery[]>[]): Promise<void> {
    const early = await Promise.race([...waiting, pause(100)]);
    if (early) throw new Error(`a pull ended early, with ${early.length} messages`);
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#queues.map((queue) => queue.close()));
    await this.#fixture.remove();
  }
}

export function idsOf(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `message-${from + i}`);
}

export function numbered(from: number, to: number): Message[] {
  return idsOf(from, to).map((id) => ({ id, body: { id } }));
}

export async function pullAndAck(consumer: Consumer, limit: number, wait_ms = LONG_MS): Promise<string[]> {
  const deliveries = await consumer.pull(limit, wait_ms);
  await Promise.all(deliveries.map((it) => it.ack()));
  return deliveries.map((it) => it.id);
}

/** `patient_ms` leaves out the delays of the machine, for upper bounds. */
export async function timed<T>(promise: Promise<T>): Promise<{ value: T; took_ms: number; patient_ms: number }> {
  const since = performance.now();
  const timer = startPatientTimer();
  const value = await promise.finally(timer.stop);
  return { value, took_ms: performance.now() - since, patient_ms: timer.elapsed_ms() };
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** The sockets and timers of this thread that keep the process alive. */
export function handles(): number {
  return process.getActiveResourcesInfo().filter((it) => it !== 'MessagePort').length;
}

export { until } from '../../support/until.ts';
