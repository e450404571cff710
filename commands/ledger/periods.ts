// The aggregate of the books: until which day they are closed.
import type { EventStore } from '../../events/event-store.ts';
import type { PeriodClosed, PeriodsEvent } from '../../events/service.ts';
import { PERIODS_STREAM } from '../../events/streams.ts';
import {
  type CommandContext,
  type Decision,
  evolveBy,
  type Handled,
  openAggregate,
  type Refusal,
} from '../aggregate.ts';

/** The last day of the last closed period; null before the first. */
type State = string | null;

export const initial = (): State => null;
export const evolve = evolveBy<State, PeriodsEvent>({ PeriodClosed: (_, { until }) => until });

const dayOf = (now: number) => new Date(now).toISOString().slice(0, 'yyyy-mm-dd'.length);

/** Closing the last period again records nothing. `now`: a day that is not over cannot be closed. */
export function decide(state: State, closing: PeriodClosed, now: number): Decision<PeriodsEvent, Refusal> {
  const { until } = closing;
  if (until >= dayOf(now)) return refused('not_over', `${until} is not over yet (UTC)`);
  if (state !== null && until < state) return refused('closed', `the books are closed until ${state} already`);
  return { events: until === state ? [] : [{ type: 'PeriodClosed', data: closing }] };
}

const refused = (code: string, message: string) => ({ refused: { code, message } });

/** `appended` is 0 where the period was closed before. */
export function closePeriod(
  log: EventStore,
  closing: PeriodClosed,
  context: CommandContext,
): Promise<Handled<State, Refusal>> {
  const aggregate = openAggregate<State, PeriodsEvent>(log, { initial, evolve });
  return aggregate.handle(PERIODS_STREAM, context, (state) => decide(state, closing, context.now));
}
