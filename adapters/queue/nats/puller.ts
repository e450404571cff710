// Pulls messages of one subject by JetStream's pull protocol. We do not use the client's `fetch`: it waits for a full batch,
// for a second at least, and closing its iterator early can hang.
import { createInbox, JSONCodec, type Msg, nanos } from 'nats';
import type { ConsumeOptions, Consumer, Delivery } from '../../../checkers/queue.ts';
import { pause } from '../../../time/pause.ts';
import { checkPull } from '../limits.ts';
import { backOff, type Connection, REQUEST_LIMIT_MS } from './connection.ts';
import type { WorkStream } from './stream.ts';

const SETTLE_LIMIT_MS = 5_000;
const ASK_AGAIN_MS = 10;
const ACK = '+ACK';
const NAK = '-NAK';
const IN_PROGRESS = '+WPI';
const TERMINATE = '+TERM';

interface Fetched {
  messages: Msg[];
  /** `done`: the server has answered. `missing`: it has no such consumer. `again`: it gave no usable answer. */
  ended: 'done' | 'missing' | 'again';
}

export class Puller<Body> implements Consumer<Body> {
  readonly #connection: Connection;
  readonly #stream: WorkStream;
  readonly #subject: string;
  readonly #options: ConsumeOptions;
  readonly #signal: AbortSignal;
  /** The consumer could not be made, and the log says so. */
  #is_missed = false;

  constructor(connection: Connection, stream: WorkStream, subject: string, options: ConsumeOptions) {
    this.#connection = connection;
    this.#stream = stream;
    this.#subject = subject;
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, connection.closing]);
  }

  async pull(limit: number, wait_ms: number): Promise<Delivery<Body>[]> {
    checkPull(limit, wait_ms);
    const until = performance.now() + wait_ms;
    const left = () => Math.max(0, until - performance.now());
    for (let failures = 0; ; ) {
      if (!(await this.#connection.connected(left(), this.#signal)) || this.#signal.aborted) return [];
      const { messages, ended } = await this.#fetch(limit, Math.floor(left()));
      const deliveries = messages.flatMap((message) => this.#deliver(message) ?? []);
      if (deliveries.length > 0 || this.#signal.aborted || left() < 1) return deliveries;
      if (messages.length > 0) continue;
      if (ended === 'missing') await this.#repair();
      // The server answered without messages although time is left: other consumers took them.
      const pause_ms = ended === 'done' ? ASK_AGAIN_MS : backOff(failures++);
      await pause(Math.min(left(), pause_ms), this.#signal);
    }
  }

  /** Sends one pull request: the server delivers what is there, or else the first message that comes within `wait_ms`. */
  #fetch(limit: number, wait_ms: number): Promise<Fetched> {
    const { nats } = this.#connection;
    const { promise, resolve } = Promise.withResolvers<Fetched>();
    const inbox = createInbox();
    const messages: Msg[] = [];
    let is_over = false;

    const end = (ended: Fetched['ended'], is_answered: boolean) => {
      if (is_over) return;
      is_over = true;
      clearTimeout(timer);
      off();
      this.#signal.removeEventListener('abort', abandon);
      // Without an answer the server may still send: a draining subscription gives its messages back.
      if (is_answered || nats.isClosed()) subscription.unsubscribe();
      else subscription.drain().catch((err: unknown) => this.#connection.log.warn({ err }, 'NATS: a pull was left'));
      if (this.#signal.aborted) for (const message of messages.splice(0)) message.respond(NAK);
      resolve({ messages, ended });
    };
    const abandon = () => end('again', false);

    const subscription = nats.subscribe(inbox, {
      callback: (error, message) => {
        if (error) return end('again', true);
        if (message.subject === inbox) return end(readStatus(message), true);
        if (is_over) return void message.respond(NAK);
        messages.push(message);
        if (messages.length === limit) end('done', true);
      },
    });
    const timer = setTimeout(abandon, wait_ms + REQUEST_LIMIT_MS);
    const off = this.#connection.onLost(abandon);
    this.#signal.addEventListener('abort', abandon);
    const expires = wait_ms > 0 ? nanos(wait_ms) : undefined;
    const request = JSONCodec().encode({ batch: limit, no_wait: true, expires });
    const consumer = `${this.#stream.name}.${this.#stream.consumer(this.#subject)}`;
    nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${consumer}`, request, { reply: inbox });
    return promise;
  }

  /** Terminates a message that was delivered too often or that no queue of ours published, and returns null for it. */
  #deliver(message: Msg): Delivery<Body> | null {
    const { max_deliveries } = this.#options;
    const delivery = deliveryCount(message);
    const decoded = decode<Body>(message, this.#subject);
    if (decoded === null || delivery > max_deliveries) {
      message.respond(TERMINATE);
      const why = decoded === null ? 'is not from a queue' : `was delivered ${max_deliveries} times`;
      this.#connection.log.warn({ subject: this.#subject, id: decoded?.id }, `NATS: dropped a message that ${why}`);
      return null;
    }
    return {
      ...decoded,
      delivery,
      ack: () => this.#settle(message, ACK),
      nak: (delay_ms = 0) => {
        if (delivery >= max_deliveries) return this.#settle(message, TERMINATE);
        return this.#settle(message, delay_ms > 0 ? `${NAK} ${JSON.stringify({ delay: nanos(delay_ms) })}` : NAK);
      },
      working: () => this.#settle(message, IN_PROGRESS),
    };
  }

  /** Resolves when the server has confirmed the acknowledgement. */
  async #settle(message: Msg, word: string): Promise<void> {
    const { nats } = this.#connection;
    await this.#connection.attempt(word, SETTLE_LIMIT_MS, () =>
      nats.request(message.reply!, word, { timeout: REQUEST_LIMIT_MS }),
    );
  }

  async #repair(): Promise<void> {
    try {
      await this.#stream.ensureConsumer(this.#subject, this.#options);
      this.#is_missed = false;
    } catch (err) {
      if (this.#is_missed) return;
      this.#is_missed = true;
      this.#connection.log.warn({ err, subject: this.#subject }, 'NATS: the consumer is missing and cannot be made');
    }
  }
}

/** 404: no messages. 408: the time is up. 409: a state of the consumer, such as deleted. 503: no responder. */
function readStatus({ headers }: Msg): Fetched['ended'] {
  const code = headers?.code ?? 0;
  if (code === 404 || code === 408) return 'done';
  if (code === 503 || (code === 409 && /consumer deleted/i.test(headers!.description))) return 'missing';
  return 'again';
}

/** Reads the count from the reply subject, `$JS.ACK.[domain.account.]stream.consumer.deliveries.` and five or six words. */
function deliveryCount({ reply = '' }: Msg): number {
  const words = reply.split('.');
  return Number(words.length > 9 ? words[6] : words[4]);
}

function decode<Body>(message: Msg, subject: string): { id: string; body: Body } | null {
  const id = message.headers?.get('Nats-Msg-Id') ?? '';
  if (!id.startsWith(`${subject} `)) return null;
  try {
    return { id: id.slice(subject.length + 1), body: message.json<Body>() };
  } catch {
    return null;
  }
}
