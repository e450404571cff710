// Runs every command: loads the stream's state, decides, and appends at the revision of that state. On a conflict another
// writer was first: the aggregate loads its events and decides again.
import { setTimeout as delay } from 'node:timers/promises';
import type { EventStore, Metadata, NewEvent, Position } from '../events/event-store.ts';
import { eventId } from '../events/ids.ts';
import { categoryOf } from '../events/streams.ts';
import { traced, traceparent } from '../events/tracing.ts';
import { after, fromLastEvent, type Loaded, openStreamStates, type StreamStatesOptions } from './stream-states.ts';

export interface AnyEvent {
  type: string;
  data: unknown;
}

/** Who runs a command and why. */
export interface CommandContext {
  /** A uuid. A retry of the command carries the same one. */
  command_id: string;
  causation_id: string;
  actor: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** Of the step that runs the command, where it is not the current one: commands of several steps may be appended together. */
  traceparent?: string;
}

/** The fold of a stream. `evolve` owns the state that it is given and may change it in place; `decide` never does. */
export interface Fold<State, Event extends AnyEvent> {
  initial(): State;
  evolve(state: State, event: Event): State;
}

/** For each event type, the function that returns the state after the event. */
export type Cases<State, Event extends AnyEvent> = {
  readonly [Type in Event['type']]: (state: State, data: Extract<Event, { type: Type }>['data']) => State;
};

/** Makes an `evolve` of one case for each event type; a missing case does not compile. An event of an unknown type changes nothing. */
export function evolveBy<State, Event extends AnyEvent>(cases: Cases<State, Event>): Fold<State, Event>['evolve'] {
  const by_type = cases as Readonly<Record<string, (state: State, data: unknown) => State>>;
  return (state, event) => by_type[event.type]?.(state, event.data) ?? state;
}

export interface Refusal {
  code: string;
  message: string;
}

/** A decision without events means that the stream already records what the command asks for. */
export type Decision<Event extends AnyEvent, Refused extends Refusal = Refusal> =
  | { events: readonly Event[] }
  | { refused: Refused };

export type Handled<State, Refused extends Refusal = Refusal> =
  /** `position`: the stream's last event, `BEGINNING` when it has none. `appended`: the number of new events. */
  { ok: true; state: Readonly<State>; position: Position; appended: number } | { ok: false; refused: Refused };

/** The outcome of a command whose caller needs no state. */
export type Done = { ok: true; position: Position } | { ok: false; refused: Refusal };

/**
 * The outcome of a command that nothing refuses here. Throws an Error where it was refused all the same.
 * @example const { position } = notRefused(await credits.run(user_id, command, context));
 */
export function notRefused<Outcome extends { ok: true } | { ok: false; refused: Refusal }>(
  outcome: Outcome,
): Extract<Outcome, { ok: true }> {
  if (!outcome.ok) throw new Error(outcome.refused.message);
  return outcome as Extract<Outcome, { ok: true }>;
}

/**
 * A process with hundreds of commands for one stream runs them without a pause, and every other writer conflicts until they are
 * done. 100 tries last about 5 s; a writer that conflicts for longer has met a defect.
 */
const MAX_TRIES = 100;
const MAX_PAUSE_MS = 100;

/** Other writers were first at each try. */
export class ConflictPersists extends Error {
  readonly code = 'unavailable';
}

/** The stream was deleted, so that nobody can append to it. */
export class StreamDeleted extends Error {
  readonly code = 'stream_deleted';
}

export interface Aggregate<State, Event extends AnyEvent> {
  /** Reads new events from the log and returns the state with them. */
  read(stream: string): Promise<{ state: Readonly<State>; position: Position }>;
  /** Returns the cached state, which may lack events of other writers; reads the log when the cache has no state. */
  peek(stream: string): Promise<Readonly<State>>;
  /**
   * Runs a command; throws `ConflictPersists`, `StreamDeleted` and the log's errors. `assume_empty`: the stream is most likely new, so the first
   * decision is made on the initial state, without a read. `assumed`: a state that the log most likely has at this revision, as a
   * read model tells it; it needs only the fields that `decide` and `evolve` use, and the state that is returned has only those.
   * @example await aggregate.handle('job-1', context, (state) => decide(state, { type: 'cancel' }));
   */
  handle<Refused extends Refusal = Refusal>(
    stream: string,
    context: CommandContext,
    decide: Decide<State, Event, Refused>,
    options?: Assumptions<State>,
  ): Promise<Handled<State, Refused>>;
}

export interface Assumptions<State> {
  assume_empty?: boolean;
  assumed?: { state: State; revision: number };
}

/** May read the log: its events are appended only at the revision of `state`. */
type Decide<State, Event extends AnyEvent, Refused extends Refusal> = (
  state: Readonly<State>,
) => Decision<Event, Refused> | Promise<Decision<Event, Refused>>;

interface Waiting<State, Event extends AnyEvent> {
  context: CommandContext;
  decide: Decide<State, Event, Refusal>;
  assumptions: Assumptions<State>;
  answer: PromiseWithResolvers<Handled<State>>;
}

export interface AggregateOptions<State> extends StreamStatesOptions<State> {
  /**
   * Up to this many commands that wait for one stream are decided one after the other and appended in one append, all or none.
   * Default 1; more suits a stream that gets many concurrent commands in one process.
   */
  max_per_append?: number;
  /** Returns the events as they are appended, the first at `first_revision`; `state` is the state before them. */
  seal?(state: Readonly<State>, stream: string, first_revision: number, events: readonly NewEvent[]): NewEvent[];
}

/** Opens the aggregate of a stream whose events nothing decides on: each is appended at the stream's revision, whatever came before. */
export function openStateless<Event extends AnyEvent>(
  log: EventStore,
  options: Pick<AggregateOptions<null>, 'max_per_append'> = {},
): Aggregate<null, Event> {
  const fold = { initial: () => null, evolve: () => null };
  return openAggregate<null, Event>(log, fold, { ...options, begin: fromLastEvent(log, fold) });
}

/**
 * Opens an aggregate with a cache of states. A command is first decided on the cached state, without a read: the append at its
 * revision succeeds only when no other writer has appended since. After a conflict, and before a command without events is
 * answered, the aggregate reads the new events and decides again. Within a process the commands of one stream run one after
 * the other; between processes the expected revision decides.
 */
export const openAggregate = <State, Event extends AnyEvent>(
  log: EventStore,
  fold: Fold<State, Event>,
  options: AggregateOptions<State> = {},
): Aggregate<State, Event> => new CachedAggregate(log, fold, options);

class CachedAggregate<State, Event extends AnyEvent> implements Aggregate<State, Event> {
  readonly #log: EventStore;
  readonly #fold: Fold<State, Event>;
  readonly #seal: AggregateOptions<State>['seal'];
  readonly #max_per_append: number;
  readonly #states: ReturnType<typeof openStreamStates<State>>;
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, Waiting<State, Event>[]>();
  /** The reads that wait for their turn. */
  readonly #reads = new Map<string, ReturnType<Aggregate<State, Event>['read']>>();

  constructor(log: EventStore, fold: Fold<State, Event>, options: AggregateOptions<State>) {
    this.#log = log;
    this.#fold = fold;
    this.#seal = options.seal;
    this.#max_per_append = options.max_per_append ?? 1;
    this.#states = openStreamStates(log, fold, options);
  }

  /** Requests that ask while another waits for its turn share its read. */
  read(stream: string): ReturnType<Aggregate<State, Event>['read']> {
    const shared = this.#reads.get(stream);
    if (shared) return shared;
    const read = this.#inTurn(stream, async () => {
      this.#reads.delete(stream);
      const { state, position } = await this.#states.load(stream);
      return { state, position };
    });
    this.#reads.set(stream, read);
    return read;
  }

  async peek(stream: string): Promise<State> {
    return this.#states.peek(stream) ?? (await this.read(stream)).state;
  }

  handle<Refused extends Refusal>(
    stream: string,
    context: CommandContext,
    decide: Decide<State, Event, Refused>,
    assumptions: Assumptions<State> = {},
  ): Promise<Handled<State, Refused>> {
    const name = () => ({ name: `command ${categoryOf(stream)}`, attributes: { command_id: context.command_id } });
    return traced(name, (span) => {
      const answer = Promise.withResolvers<Handled<State, Refused>>();
      const of_step = traceparent();
      const of_command = of_step === undefined ? context : { ...context, traceparent: of_step };
      const command = { context: of_command, decide, assumptions, answer } as unknown as Waiting<State, Event>;
      const queue = this.#waiting.get(stream);
      if (queue) queue.push(command);
      else this.#waiting.set(stream, [command]);
      void this.#inTurn(stream, () => this.#answerNext(stream));
      return answer.promise.then((handled) => {
        if (!handled.ok) span.set({ refused: handled.refused.code });
        return handled;
      });
    });
  }

  /** Runs one function at a time for each stream, because they change the cached state in place. */
  #inTurn<R>(stream: string, run: () => Promise<R>): Promise<R> {
    const turn = (this.#turns.get(stream) ?? Promise.resolve()).then(run, run);
    const settled = turn.then(
      () => {},
      // A failed append may or may not be stored, so the cached state may lack its events.
      () => this.#states.forget(stream),
    );
    this.#turns.set(stream, settled);
    void settled.then(() => this.#turns.get(stream) === settled && this.#turns.delete(stream));
    return turn;
  }

  /** Runs the next commands that wait; none when an earlier append has included them. */
  async #answerNext(stream: string): Promise<void> {
    const queue = this.#waiting.get(stream) ?? [];
    let commands = queue.splice(0, this.#max_per_append);
    if (queue.length === 0) this.#waiting.delete(stream);
    if (commands.length === 0) return;
    try {
      await this.#attempt(stream, commands).catch(async (error: unknown) => {
        if (commands.length === 1 || (error as { code?: unknown }).code !== 'append_too_large') throw error;
        // The store appended nothing: append the events of each command by themselves.
        for (; commands.length > 0; commands = commands.slice(1)) {
          this.#states.forget(stream);
          await this.#attempt(stream, commands.slice(0, 1));
        }
      });
    } catch (error) {
      for (const { answer } of commands) answer.reject(error);
      throw error;
    }
  }

  /** Decides the commands one after the other and appends their events at once. Rejects when the append may or may not be stored. */
  async #attempt(stream: string, commands: readonly Waiting<State, Event>[]): Promise<void> {
    const is_new = !this.#states.has(stream) && commands.every(({ assumptions }) => assumptions.assume_empty);
    const assumed = commands.length === 1 ? commands[0]!.assumptions.assumed : undefined;
    const kept = this.#states.confirmed(stream) ?? (is_new ? this.#states.empty() : null);
    let guess = kept ?? (assumed ? { ...this.#states.empty(), ...assumed } : null);
    let is_whole = kept !== null;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const is_guess = guess !== null;
      const loaded = guess ?? (await this.#states.load(stream));
      guess = null;
      is_whole ||= !is_guess;
      const { events, last, answers } = await this.#decideAll(stream, loaded, commands);
      if (events.length > 0) {
        const result = await this.#log.append(stream, loaded.revision, events);
        if (!result.ok) {
          if (events.length > last.length) this.#states.forget(stream);
          if (loaded.revision === 'no_stream' && result.actual === 'no_stream') {
            throw new StreamDeleted(`the stream ${stream} is deleted`);
          }
          // A random pause keeps two writers from conflicting in step at each try.
          if (!is_guess) await delay(Math.random() * Math.min(2 ** tries, MAX_PAUSE_MS));
          continue;
        }
        this.#evolve(loaded, last);
        Object.assign(loaded, { revision: result.revision, last_id: events.at(-1)!.id, position: result.position });
        if (is_whole) this.#states.keep(stream, loaded);
      } else if (is_guess) continue;
      for (const answer of answers) answer();
      return;
    }
    throw new ConflictPersists(`stream ${stream}: other writers were first ${MAX_TRIES} times`);
  }

  /**
   * Decides each command on the state with the events of those before it. `events`: of all commands; `last`: of the last one, which
   * enter the state after the append.
   */
  async #decideAll(stream: string, loaded: Loaded<State>, commands: readonly Waiting<State, Event>[]) {
    const answers: (() => void)[] = [];
    const events: NewEvent[] = [];
    let last: readonly NewEvent[] = [];
    for (const { context, decide, answer } of commands) {
      this.#evolve(loaded, last);
      last = [];
      try {
        const decision = await decide(loaded.state);
        if ('refused' in decision) {
          answers.push(() => answer.resolve({ ok: false, refused: decision.refused }));
          continue;
        }
        const first = after(loaded.revision) + events.length;
        const decided = stamp(decision.events, context, stream, first);
        last = this.#seal ? this.#seal(loaded.state, stream, first, decided) : decided;
      } catch (error) {
        answers.push(() => answer.reject(error));
        continue;
      }
      const appended = last.length;
      events.push(...last);
      answers.push(() => answer.resolve({ ok: true, state: loaded.state, position: loaded.position, appended }));
    }
    return { events, last, answers };
  }

  #evolve(loaded: Loaded<State>, events: readonly NewEvent[]): void {
    for (const event of events) loaded.state = this.#fold.evolve(loaded.state, event as unknown as Event);
  }
}

/** Gives events their ids and metadata: one metadata object for all, which adapters serialize once. */
export function stamp<Event extends AnyEvent>(
  events: readonly Event[],
  context: CommandContext,
  stream: string,
  first_revision: number,
): NewEvent[] {
  const metadata = metadataOf(context);
  return events.map(({ type, data }, n) => ({
    id: eventId(context.command_id, stream, first_revision + n),
    type,
    data,
    metadata,
  }));
}

export function metadataOf(context: CommandContext): Metadata {
  const { command_id, causation_id, actor, now } = context;
  const of_step = context.traceparent ?? traceparent();
  return {
    ...{ command_id, causation_id, actor, at: new Date(now).toISOString() },
    ...(of_step !== undefined && { traceparent: of_step }),
  };
}
