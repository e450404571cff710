// The aggregate of an ended job's results, counted by domain. Its parts are recorded in order, each once, until the last.
import type { DomainChecksEvent, DomainsChecked } from '../events/domain-checks.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { domainChecksStream } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, notRefused, openAggregate } from './aggregate.ts';

export interface RecordedParts {
  parts: number;
  closed: boolean;
}

export const initial = (): RecordedParts => ({ parts: 0, closed: false });
export const evolve = evolveBy<RecordedParts, DomainChecksEvent>({
  DomainsChecked: ({ parts }, { last }) => ({ parts: parts + 1, closed: last }),
});

/** `part` counts from 0. A part that is recorded already, or that comes before its predecessor, makes no event. */
export function decide(
  { parts, closed }: Readonly<RecordedParts>,
  part: number,
  data: DomainsChecked,
): Decision<DomainChecksEvent> {
  return { events: closed || part !== parts ? [] : [{ type: 'DomainsChecked', data }] };
}

export type DomainChecks = ReturnType<typeof openDomainChecks>;

export function openDomainChecks(log: EventStore) {
  const aggregate = openAggregate<RecordedParts, DomainChecksEvent>(log, { initial, evolve });
  return {
    /** The position that the log has reached with the part. */
    async record(part: number, data: DomainsChecked, context: CommandContext): Promise<Position> {
      const decided = (recorded: RecordedParts) => decide(recorded, part, data);
      const stream = domainChecksStream(data.job_id);
      return notRefused(await aggregate.handle(stream, context, decided, { assume_empty: part === 0 })).position;
    },
  };
}
