// One query of one type: it asks the name servers in order, and again, until one answers. Each try has a socket of its own with
// a random port (RFC 5452), which stays open beside the later tries: an answer that comes late counts too. Decision 178 says why.
import dgram from 'node:dgram';
import net from 'node:net';
import { isShortage } from '../errors.ts';
import { type Answer, type Query, type QueryType, queryFor, readAnswer } from './message.ts';
import type { NameServer } from './servers.ts';

export type QueryResult =
  | Extract<Answer, { kind: 'found' | 'missing' | 'none' }>
  /** At least one server was heard, but none gave an answer of use. */
  | { kind: 'failed' }
  /** No server was heard. */
  | { kind: 'silent' }
  /** This machine lacks files or memory for the query. */
  | { kind: 'shortage' };

export interface QueryRules {
  /** In the order of the tries. */
  servers: readonly NameServer[];
  /** How often each server is asked. */
  attempts: number;
  /** The wait for the first round; it doubles with each further one, up to a cap. */
  timeout_ms: number;
  tcp_only: boolean;
  /** Whether this machine can reach IPv6 addresses. */
  has_ipv6: boolean;
  /** Whether each try, and not only those after a first one has failed, is in the oldest form: without EDNS and mixed cases. */
  is_plain?: boolean;
  /** Called for each message of a server. */
  heard: () => void;
  /** Called when a try has had no answer in its time. */
  unanswered: () => void;
}

const LONGEST_TRY_MS = 5000;
/** The wait before a server that failed is asked again. */
const PAUSE_MS = 250;
/** Messages of a try that answer another query, after which its socket is closed: somebody guesses. */
const MAX_FOREIGN = 100;
/** How often one try may change its form: without EDNS, without mixed cases. */
const MAX_FORMS = 3;
const TCP_LENGTH_BYTES = 2;

export class AddressQuery {
  readonly #name: string;
  readonly #type: QueryType;
  readonly #rules: QueryRules;
  readonly #done: (result: QueryResult) => void;
  readonly #tries = new Set<Try>();
  #started = 0;
  #is_heard = false;
  #lacks = false;
  #timer: NodeJS.Timeout | undefined;
  /** The addresses that a truncated message had, for when TCP brings no more. */
  #partial: FoundAnswer | null = null;
  #is_over = false;
  /** When the latest try began, by `performance.now()`. */
  asked_last_at = 0;

  /** Calls `done` once, unless it is closed before. `name`: in lower case and fit for a message. */
  constructor(name: string, type: QueryType, rules: QueryRules, done: (result: QueryResult) => void) {
    this.#name = name;
    this.#type = type;
    this.#rules = rules;
    this.#done = done;
    this.#next();
  }

  close(): void {
    this.#is_over = true;
    clearTimeout(this.#timer);
    for (const one of this.#tries) one.close();
  }

  #serverOf(n: number): NameServer {
    return this.#rules.servers[n % this.#rules.servers.length]!;
  }

  #next(): void {
    const { servers, attempts, timeout_ms, is_plain = false } = this.#rules;
    if (this.#started >= attempts * servers.length) return void this.#end();
    const n = this.#started++;
    const wait_ms = Math.min(timeout_ms * 2 ** Math.floor(n / servers.length), Math.max(LONGEST_TRY_MS, timeout_ms));
    this.asked_last_at = performance.now();
    // A thread that was late first reads the messages that came meanwhile, which it does between a timer and its immediate.
    this.#timer = setTimeout(() => setImmediate(() => this.#unanswered(n)), wait_ms);
    // Servers, and firewalls before them, fail or say nothing when a form is new to them.
    const rules = { ...this.#rules, is_plain: is_plain || n >= servers.length };
    const attempt = new Try(this.#serverOf(n), this.#name, this.#type, rules, {
      heard: () => {
        this.#is_heard = true;
        this.#rules.heard();
      },
      truncated: (partial) => (this.#partial = partial),
      ended: (result) => this.#ended(attempt, n, result),
    });
    this.#tries.add(attempt);
    attempt.start();
  }

  #unanswered(n: number): void {
    if (this.#is_over || n < this.#started - 1) return;
    this.#rules.unanswered();
    this.#next();
  }

  #ended(attempt: Try, n: number, result: TryResult): void {
    if (this.#is_over) return;
    this.#tries.delete(attempt);
    if (result === 'shortage') this.#lacks = true;
    else if (result !== 'unreachable' && result.kind !== 'failed') return void this.#end(result);
    // An earlier try: the latest one is still on its way.
    if (n < this.#started - 1) return;
    clearTimeout(this.#timer);
    const is_last = this.#started >= this.#rules.attempts * this.#rules.servers.length;
    if (is_last && this.#tries.size === 0) return void this.#end();
    const same = this.#serverOf(this.#started) === attempt.server;
    this.#timer = setTimeout(() => this.#next(), same || is_last ? PAUSE_MS : 0);
  }

  #end(result?: QueryResult): void {
    this.close();
    if (result !== undefined) this.#done(result);
    else if (this.#partial !== null) this.#done(this.#partial);
    else if (this.#is_heard) this.#done({ kind: 'failed' });
    else this.#done({ kind: this.#lacks ? 'shortage' : 'silent' });
  }
}

type FoundAnswer = Extract<Answer, { kind: 'found' }>;
type TryResult = Extract<Answer, { kind: 'found' | 'missing' | 'none' | 'failed' }> | 'unreachable' | 'shortage';

type TryRules = Pick<QueryRules, 'tcp_only' | 'is_plain'>;

interface TryOwner {
  /** Called for each message that answers the query. */
  heard(): void;
  truncated(partial: FoundAnswer): void;
  /** Called once, unless the try is closed before. */
  ended(result: TryResult): void;
}

/** One try at one server: over UDP, and over TCP when the answer is too long for UDP. */
class Try {
  readonly server: NameServer;
  readonly #name: string;
  readonly #type: QueryType;
  readonly #rules: TryRules;
  readonly #owner: TryOwner;
  #query: Query;
  #udp: dgram.Socket | null = null;
  #tcp: net.Socket | null = null;
  #foreign = 0;
  #forms = 1;
  #is_closed = false;

  constructor(server: NameServer, name: string, type: QueryType, rules: TryRules, owner: TryOwner) {
    this.server = server;
    this.#name = name;
    this.#type = type;
    this.#rules = rules;
    this.#owner = owner;
    this.#query = this.#form();
  }

  start(): void {
    if (this.#rules.tcp_only) this.#askOverTcp();
    else this.#askOverUdp();
  }

  close(): void {
    this.#is_closed = true;
    this.#udp?.close();
    this.#udp = null;
    this.#tcp?.destroy();
  }

  #form(): Query {
    const is_plain = this.#rules.is_plain === true;
    const { knows_edns, keeps_case } = this.server;
    return queryFor(this.#name, this.#type, { edns: knows_edns && !is_plain, mixes_case: keeps_case && !is_plain });
  }

  #askOverUdp(): void {
    const { address, port } = this.server;
    const socket = dgram.createSocket(net.isIP(address) === 6 ? 'udp6' : 'udp4');
    this.#udp = socket;
    socket.on('error', (error) => this.#failed(error));
    socket.on('message', (bytes) => this.#read(bytes));
    socket.connect(port, address, (error?: Error) => {
      if (this.#is_closed) return;
      if (error != null) this.#failed(error);
      else socket.send(this.#query.bytes);
    });
  }

  #askOverTcp(): void {
    const socket = net.connect({ host: this.server.address, port: this.server.port });
    this.#tcp = socket;
    const length = Buffer.alloc(TCP_LENGTH_BYTES);
    length.writeUInt16BE(this.#query.bytes.length);
    socket.write(Buffer.concat([length, this.#query.bytes]));
    let read = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      read = Buffer.concat([read, chunk]);
      if (read.length < TCP_LENGTH_BYTES || read.length < TCP_LENGTH_BYTES + read.readUInt16BE(0)) return;
      this.#read(read.subarray(TCP_LENGTH_BYTES, TCP_LENGTH_BYTES + read.readUInt16BE(0)));
    });
    socket.on('error', (error) => this.#failed(error));
    socket.on('close', () => this.#failed(null));
  }

  #read(bytes: Buffer): void {
    if (this.#is_closed) return;
    const answer = readAnswer(bytes, this.#query);
    if (answer.kind === 'foreign') {
      // Over TCP nobody else can answer.
      if (this.#tcp === null && ++this.#foreign < MAX_FOREIGN) return;
      this.#owner.heard();
      this.#end({ kind: 'failed' });
      return;
    }
    this.#owner.heard();
    if (answer.kind === 'wants_no_edns' || answer.kind === 'loses_case') {
      if (answer.kind === 'wants_no_edns') this.server.knows_edns = false;
      else this.server.keeps_case = false;
      this.#askInAnotherForm();
    } else if (answer.kind === 'found' && answer.is_truncated && this.#tcp === null) {
      if (answer.addresses.length > 0) this.#owner.truncated(answer);
      this.#udp?.close();
      this.#udp = null;
      this.#askOverTcp();
    } else {
      this.#end(answer);
    }
  }

  #askInAnotherForm(): void {
    if (++this.#forms > MAX_FORMS) return void this.#end({ kind: 'failed' });
    this.#query = this.#form();
    if (this.#tcp === null) {
      this.#udp?.send(this.#query.bytes);
      return;
    }
    this.#tcp.removeAllListeners('close').destroy();
    this.#askOverTcp();
  }

  /** Null: the server closed the connection. */
  #failed(error: Error | null): void {
    if (this.#is_closed) return;
    if (error !== null && isShortage(error)) this.#end('shortage');
    else this.#end(error === null ? { kind: 'failed' } : 'unreachable');
  }

  #end(result: TryResult): void {
    this.close();
    this.#owner.ended(result);
  }
}
