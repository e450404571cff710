// The aggregate of the blocklist. Blocking a domain that is on it updates its entry.
import { hash } from 'node:crypto';
import type { BlocklistEvent, DomainBlocked, DomainBlockUpdated } from '../events/blocked-domain.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { BLOCKLIST_STREAM } from '../events/streams.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate, type Refusal } from './aggregate.ts';

export const MAX_BLOCKED = 100_000;

interface Entry {
  added_at: string;
  /** A hash of the entry's other fields: the reasons of a full list would take 100 MB of memory. */
  digest: string;
}

/** The entries by domain. */
export type BlocklistState = Map<string, Entry>;

export const initial = (): BlocklistState => new Map();
export const evolve = evolveBy<BlocklistState, BlocklistEvent>({
  DomainBlocked: (entries, data) => entries.set(data.domain, { added_at: data.added_at, digest: digestOf(data) }),
  DomainBlockUpdated(entries, data) {
    const added_at = entries.get(data.domain)?.added_at ?? '';
    return entries.set(data.domain, { added_at, digest: digestOf(data) });
  },
  DomainUnblocked(entries, { domain }) {
    entries.delete(domain);
    return entries;
  },
});

export type BlocklistCommand = { type: 'block'; entry: DomainBlocked } | { type: 'unblock'; domain: string };

export const BLOCKLIST_FULL = {
  code: 'blocklist_full',
  message: `There are ${MAX_BLOCKED} domains on the list; remove some.`,
};

export function decide(entries: Readonly<BlocklistState>, command: BlocklistCommand): Decision<BlocklistEvent> {
  if (command.type === 'unblock') {
    const { domain } = command;
    if (entries.has(domain)) return { events: [{ type: 'DomainUnblocked', data: { domain } }] };
    return { refused: { code: 'domain_not_blocked', message: 'The domain is not on the blocklist.' } };
  }
  const { added_at: _, ...data } = command.entry;
  const entry = entries.get(data.domain);
  if (entry) return { events: entry.digest === digestOf(data) ? [] : [{ type: 'DomainBlockUpdated', data }] };
  if (entries.size >= MAX_BLOCKED) {
    return { refused: BLOCKLIST_FULL };
  }
  return { events: [{ type: 'DomainBlocked', data: command.entry }] };
}

const digestOf = ({ reason, block_type, error_codes }: DomainBlockUpdated) =>
  hash('sha1', JSON.stringify([reason, block_type, error_codes]), 'base64');

export interface Blocklist {
  /** `added_at`: when the domain came onto the list. Refused as `blocklist_full`. */
  block(
    entry: DomainBlockUpdated,
    context: CommandContext,
  ): Promise<{ ok: true; added_at: string; is_new: boolean; position: Position } | { ok: false; refused: Refusal }>;
  /** Refused as `domain_not_blocked`. */
  unblock(domain: string, context: CommandContext): Promise<Done>;
}

export function openBlocklistCommands(log: EventStore): Blocklist {
  const aggregate = openAggregate<BlocklistState, BlocklistEvent>(log, { initial, evolve });
  return {
    async block(block, context) {
      const entry = { ...block, added_at: new Date(context.now).toISOString() };
      let added_at = entry.added_at;
      let is_new = false;
      const handled = await aggregate.handle(BLOCKLIST_STREAM, context, (entries) => {
        const before = entries.get(block.domain);
        is_new = before === undefined;
        added_at = before?.added_at ?? entry.added_at;
        return decide(entries, { type: 'block', entry });
      });
      return handled.ok ? { ok: true, added_at, is_new, position: handled.position } : handled;
    },
    unblock: (domain, context) =>
      aggregate.handle(BLOCKLIST_STREAM, context, (entries) => decide(entries, { type: 'unblock', domain })),
  };
}
