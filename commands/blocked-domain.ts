// The aggregate of one domain of the blocklist. Blocking it again updates what is said of it.
import { isDeepStrictEqual } from 'node:util';
import type { BlockedDomainEvent, DomainBlocked, DomainBlockUpdated } from '../events/blocked-domain.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { blockedDomainStream } from '../events/streams.ts';
import { type CommandContext, type Decision, openAggregate, type Refusal } from './aggregate.ts';

export interface BlockedDomain {
  /** Null while the domain is not on the list. */
  entry: DomainBlocked | null;
}

const fold = {
  initial: (): BlockedDomain => ({ entry: null }),
  evolve(state: BlockedDomain, event: BlockedDomainEvent): BlockedDomain {
    if (event.type === 'DomainBlocked') return { entry: event.data };
    if (event.type === 'DomainUnblocked' || state.entry === null) return { entry: null };
    return { entry: { ...state.entry, ...event.data } };
  },
};

/** No events where the list says the same already. */
export function block({ entry }: Readonly<BlockedDomain>, wanted: DomainBlocked): Decision<BlockedDomainEvent> {
  if (entry === null) return { events: [{ type: 'DomainBlocked', data: wanted }] };
  const said = whyOf(wanted);
  return { events: isDeepStrictEqual(said, whyOf(entry)) ? [] : [{ type: 'DomainBlockUpdated', data: said }] };
}

export function unblock({ entry }: Readonly<BlockedDomain>): Decision<BlockedDomainEvent> {
  if (entry !== null) return { events: [{ type: 'DomainUnblocked', data: {} }] };
  return { refused: { code: 'domain_not_blocked', message: 'The domain is not on the blocklist.' } };
}

function whyOf({ reason, block_type, error_codes }: DomainBlocked): DomainBlockUpdated {
  return { reason, block_type, error_codes };
}

export interface BlockedDomains {
  /** `entry`: as it is on the list now, with the time when it was added first. */
  block(
    domain: string,
    why: DomainBlockUpdated,
    context: CommandContext,
  ): Promise<{ entry: DomainBlocked; is_new: boolean; position: Position }>;
  /** Refused as `domain_not_blocked`. */
  unblock(
    domain: string,
    context: CommandContext,
  ): Promise<{ ok: true; position: Position } | { ok: false; refused: Refusal }>;
}

export function openBlockedDomains(log: EventStore): BlockedDomains {
  const aggregate = openAggregate<BlockedDomain, BlockedDomainEvent>(log, fold);
  return {
    async block(domain, why, context) {
      const wanted = { domain, ...why, added_at: new Date(context.now).toISOString() };
      let is_new = false;
      const handled = await aggregate.handle(blockedDomainStream(domain), context, (state) => {
        is_new = state.entry === null;
        return block(state, wanted);
      });
      if (!handled.ok) throw new Error(handled.refused.message);
      return { entry: handled.state.entry!, is_new, position: handled.position };
    },
    unblock: (domain, context) => aggregate.handle(blockedDomainStream(domain), context, unblock),
  };
}

export const { initial, evolve } = fold;
