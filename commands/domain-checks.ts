// The aggregate of what an ended job's checks say of domains: parts in order, each recorded once, until the last.
import type { DomainChecksEvent, DomainsChecked } from '../events/domain-checks.ts';
import type { EventStore } from '../events/event-store.ts';
import { domainChecksStream } from '../events/streams.ts';
import { type CommandContext, openAggregate } from './aggregate.ts';

const fold = {
  initial: () => ({ parts: 0, closed: false }),
  evolve(recorded: { parts: number; closed: boolean }, { data }: DomainChecksEvent) {
    recorded.parts++;
    recorded.closed = data.last;
    return recorded;
  },
};

export interface DomainChecks {
  /** Part number `part`, from 0. One that is there already stays as it is. */
  record(part: number, checked: DomainsChecked, context: CommandContext): Promise<void>;
}

export function openDomainChecks(log: EventStore): DomainChecks {
  const aggregate = openAggregate<ReturnType<typeof fold.initial>, DomainChecksEvent>(log, fold);
  return {
    async record(part, data, context) {
      await aggregate.handle(domainChecksStream(data.job_id), context, ({ parts, closed }) => ({
        events: closed || part !== parts ? [] : [{ type: 'DomainsChecked', data }],
      }));
    },
  };
}
