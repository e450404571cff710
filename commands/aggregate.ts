// How every command runs: load the stream's state, decide, append at the revision that was seen. A conflict means that
// someone else wrote first: load what they wrote and decide again.
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { EventStore, ExpectedRevision, Metadata, NewEvent, Position } from '../events/event-store.ts';
import { BEGINNING } from '../events/event-store.ts';
import { eventId } from '../events/ids.ts';

export interface AnyEvent {
  type: string;
  data: unknown;
}

/** Who runs a command and why. `command_id` is a uuid: the same command retried carries the same. */
export interface CommandContext {
  command_id: string;
  causation_id: string;
  actor: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The fold of a stream. `evolve` owns the state that it is given and may change it in place; `decide` never does. */
export interface Fold<State, Event extends AnyEvent> {
  initial(): State;
  evolve(state: State, event: Event): State;
}

/** By event type, what an event makes of the state. */
export type Cases<State, Event extends AnyEvent> = {
  readonly [Type in Event['type']]: (state: State, data: Extract<Event, { type: Type }>['data']) => State;
};

/** An `evolve` with a case for each event type: without one it does not compile. An event of a later version changes nothing. */
export function evolveBy<State, Event extends AnyEvent>(cases: Cases<State, Event>): Fold<State, Event>['evolve'] {
  const by_type = cases as Readonly<Record<string, (state: State, data: unknown) => State>>;
  return (state, event) => by_type[event.type]?.(state, event.data) ?? state;
}

export interface Refusal {
  code: string;
  message: string;
}

/** No events: what was asked is done already. */
export type Decision<Event extends AnyEvent, Refused extends Refusal = Refusal> =
  | { events: readonly Event[] }
  | { refused: Refused };

export type Handled<State, Refused extends Refusal = Refusal> =
  /** `position`: of the stream's last event, `BEGINNING` when it has none. `appended`: how many events are new. */
  { ok: true; state: Readonly<State>; position: Position; appended: number } | { ok: false; refused: Refused };

/** What came of a command whose caller needs no state. */
export type Done = { ok: true; position: Position } | { ok: false; refused: Refusal };

export interface Loaded<State> {
  state: State;
  revision: ExpectedRevision;
  position: Position;
}

/**
 * A process with hundreds of commands for one stream goes from one to the next without a pause, and who meets it loses until it is
 * through: about 5 s of tries. Who loses for longer meets a defect, not bad luck.
 */
const MAX_TRIES = 100;
const MAX_PAUSE_MS = 100;

export class ConflictPersists extends Error {
  readonly code = 'unavailable';
}

export interface Aggregate<State, Event extends AnyEvent> {
  /** The state as the log has it now. */
  read(stream: string): Promise<{ state: Readonly<State>; position: Position }>;
  /** The state that is kept of earlier commands, which others may have changed since; as `read` where none is kept. */
  peek(stream: string): Promise<Readonly<State>>;
  /** `assume_empty`: the stream is most likely new, so the command is decided before the log is asked for it. */
  handle<Refused extends Refusal = Refusal>(
    stream: string,
    context: CommandContext,
    decide: Decide<State, Event, Refused>,
    options?: { assume_empty?: boolean },
  ): Promise<Handled<State, Refused>>;
}

/** It may ask the log: the events are appended only at the revision of the state that it was given. */
type Decide<State, Event extends AnyEvent, Refused extends Refusal> = (
  state: Readonly<State>,
) => Decision<Event, Refused> | Promise<Decision<Event, Refused>>;

interface Waiting<State, Event extends AnyEvent> {
  context: CommandContext;
  decide: Decide<State, Event, Refusal>;
  assume_empty: boolean;
  answer: PromiseWithResolvers<Handled<State>>;
}

export interface AggregateOptions<State> {
  /**
   * So many commands that wait for one stream are decided one after the other and appended together, all or none. 1 unless
   * told: for streams that many commands of one process meet at.
   */
  together?: number;
  /** What is kept from one command to the next: at most so many states, 1,000 unless told. */
  max_states?: number;
  /** And at most this size of all together, each as `sizeOf` says. */
  max_size?: number;
  sizeOf?(state: State): number;
  /** Finishes events that have their ids and metadata, the first at `first_revision`, on a state without them. */
  seal?(state: Readonly<State>, stream: string, first_revision: number, events: readonly NewEvent[]): NewEvent[];
  /** A quicker way than from the beginning to a state that is not kept; null where there is none. */
  begin?(stream: string): Promise<Loaded<State> | null>;
}

/** For `begin`, where the last event alone makes the state: a stream that only grows is then never read whole. */
export function fromLastEvent<State, Event extends AnyEvent>(
  log: EventStore,
  fold: Fold<State, Event>,
): (stream: string) => Promise<Loaded<State> | null> {
  return async (stream) => {
    for await (const event of log.readStream(stream, { direction: 'backwards', limit: 1 })) {
      const state = fold.evolve(fold.initial(), event as unknown as Event);
      return { state, revision: event.revision, position: event.position };
    }
    return null;
  };
}

/**
 * States are kept from one command to the next. A command is first decided on the kept state, without a read: the append at its
 * revision succeeds only where nobody has written since. After a conflict, and before anybody is told that nothing was to be
 * appended, what came since is read and all is decided again. Commands of one stream run one after the other within
 * the process; between processes the expected revision decides.
 */
export function openAggregate<State, Event extends AnyEvent>(
  log: EventStore,
  fold: Fold<State, Event>,
  { max_states = 1000, max_size = 0, sizeOf = () => 1, begin, seal, together = 1 }: AggregateOptions<State> = {},
): Aggregate<State, Event> {
  const states = new LRUCache<string, Loaded<State>>({
    max: max_states,
    ...(max_size > 0 && { maxSize: max_size, sizeCalculation: ({ state }: Loaded<State>) => sizeOf(state) }),
  });
  const turns = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, Waiting<State, Event>[]>();

  const empty = (): Loaded<State> => ({ state: fold.initial(), revision: 'no_stream', position: BEGINNING });

  /** A copy, because the cache computes no size anew for an object that it holds already. */
  const keep = (stream: string, loaded: Loaded<State>) => states.set(stream, { ...loaded });

  async function load(stream: string): Promise<Loaded<State>> {
    const loaded = states.get(stream) ?? (await begin?.(stream)) ?? empty();
    for await (const event of log.readStream(stream, { from: after(loaded.revision) })) {
      loaded.state = fold.evolve(loaded.state, event as unknown as Event);
      loaded.revision = event.revision;
      loaded.position = event.position;
    }
    keep(stream, loaded);
    return loaded;
  }

  /** Decides one command after the other, and appends what they decide at once. Rejects when the append may or may not be stored. */
  async function attempt(stream: string, commands: readonly Waiting<State, Event>[]): Promise<void> {
    let guess = states.get(stream) ?? (commands.every(({ assume_empty }) => assume_empty) ? empty() : null);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const is_guess = guess !== null;
      const loaded = guess ?? (await load(stream));
      guess = null;
      const answers: (() => void)[] = [];
      const new_events: NewEvent[] = [];
      /** Of the last command: the state that is kept has them when the log has. */
      let last: readonly NewEvent[] = [];
      const evolve = () => {
        for (const event of last) loaded.state = fold.evolve(loaded.state, event as unknown as Event);
        last = [];
      };
      for (const { context, decide, answer } of commands) {
        evolve();
        try {
          const decision = await decide(loaded.state);
          if ('refused' in decision) {
            answers.push(() => answer.resolve({ ok: false, refused: decision.refused }));
            continue;
          }
          const first = after(loaded.revision) + new_events.length;
          const events = stamp(decision.events, context, stream, first);
          last = seal ? seal(loaded.state, stream, first, events) : events;
        } catch (error) {
          answers.push(() => answer.reject(error));
          continue;
        }
        const appended = last.length;
        new_events.push(...last);
        answers.push(() => answer.resolve({ ok: true, state: loaded.state, position: loaded.position, appended }));
      }
      if (new_events.length > 0) {
        const result = await log.append(stream, loaded.revision, new_events);
        if (!result.ok) {
          if (new_events.length > last.length) states.delete(stream);
          // Two that go in step would meet again each time.
          if (!is_guess) await delay(Math.random() * Math.min(2 ** tries, MAX_PAUSE_MS));
          continue;
        }
        evolve();
        loaded.revision = result.revision;
        loaded.position = result.position;
        keep(stream, loaded);
      } else if (is_guess) continue;
      for (const answer of answers) answer();
      return;
    }
    throw new ConflictPersists(`stream ${stream}: other writers were first ${MAX_TRIES} times`);
  }

  /** The commands whose turn it is: none, when those before took them along. */
  async function answerNext(stream: string): Promise<void> {
    const line = waiting.get(stream) ?? [];
    let commands = line.splice(0, together);
    if (line.length === 0) waiting.delete(stream);
    if (commands.length === 0) return;
    try {
      await attempt(stream, commands).catch(async (error: unknown) => {
        if (commands.length === 1 || (error as { code?: unknown }).code !== 'append_too_large') throw error;
        // Nothing was appended: each goes alone.
        for (; commands.length > 0; commands = commands.slice(1)) {
          states.delete(stream);
          await attempt(stream, commands.slice(0, 1));
        }
      });
    } catch (error) {
      for (const { answer } of commands) answer.reject(error);
      throw error;
    }
  }

  /** One at a time for each stream: the kept state changes in place. */
  function inTurn<R>(stream: string, run: () => Promise<R>): Promise<R> {
    const turn = (turns.get(stream) ?? Promise.resolve()).then(run, run);
    const settled = turn.then(
      () => {},
      // A failed append may or may not have been stored: what is kept of the stream is no longer sure.
      () => void states.delete(stream),
    );
    turns.set(stream, settled);
    void settled.then(() => turns.get(stream) === settled && turns.delete(stream));
    return turn;
  }

  const aggregate: Aggregate<State, Event> = {
    read: (stream) =>
      inTurn(stream, async () => {
        const { state, position } = await load(stream);
        return { state, position };
      }),
    peek: async (stream) => states.get(stream)?.state ?? (await aggregate.read(stream)).state,
    handle<Refused extends Refusal>(
      stream: string,
      context: CommandContext,
      decide: Decide<State, Event, Refused>,
      { assume_empty = false } = {},
    ) {
      const answer = Promise.withResolvers<Handled<State, Refused>>();
      const command = { context, decide, assume_empty, answer } as unknown as Waiting<State, Event>;
      const line = waiting.get(stream);
      if (line) line.push(command);
      else waiting.set(stream, [command]);
      void inTurn(stream, () => answerNext(stream));
      return answer.promise;
    },
  };
  return aggregate;
}

const after = (revision: ExpectedRevision) => (revision === 'no_stream' ? 0 : revision + 1);

/** Gives events their ids and metadata; one metadata object for all, which adapters write down once. */
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

export const metadataOf = ({ command_id, causation_id, actor, now }: CommandContext): Metadata => ({
  command_id,
  causation_id,
  actor,
  at: new Date(now).toISOString(),
});
