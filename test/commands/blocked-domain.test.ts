// The blocklist's decisions: given events, when a command, then events.
import test from 'ava';
import { Value } from 'typebox/value';
import { block, evolve, initial, unblock } from '../../commands/blocked-domain.ts';
import type { BlockedDomainEvent, DomainBlocked } from '../../events/blocked-domain.ts';
import { type EventType, SCHEMAS } from '../../events/vocabulary.ts';

const WHY = { reason: 'The owner asked for it.', block_type: 'legal', error_codes: ['403'] };
const ENTRY: DomainBlocked = { domain: 'example.com', ...WHY, added_at: '2026-01-31T09:00:00.000Z' };
const LATER: DomainBlocked = { ...ENTRY, added_at: '2026-02-01T09:00:00.000Z' };
const BLOCKED: BlockedDomainEvent = { type: 'DomainBlocked', data: ENTRY };
const UNBLOCKED: BlockedDomainEvent = { type: 'DomainUnblocked', data: {} };

const given = (...events: BlockedDomainEvent[]) => events.reduce(evolve, initial());

test('a domain that is not on the list is put on it', (t) => {
  t.deepEqual(block(given(), ENTRY), { events: [BLOCKED] });
  t.deepEqual(block(given(BLOCKED, UNBLOCKED), LATER), { events: [{ type: 'DomainBlocked', data: LATER }] });
});

test('one that is on it already stays as it is, but for what is said of it', (t) => {
  t.deepEqual(block(given(BLOCKED), LATER), { events: [] });
  const said = { ...WHY, error_codes: ['403', '999'] };
  const updated: BlockedDomainEvent = { type: 'DomainBlockUpdated', data: said };
  t.deepEqual(block(given(BLOCKED), { ...LATER, ...said }), { events: [updated] });
  t.deepEqual(given(BLOCKED, updated).entry, { ...ENTRY, ...said });
  t.deepEqual(block(given(BLOCKED, updated), { ...LATER, ...said }), { events: [] });
});

test('it is taken off once', (t) => {
  t.deepEqual(unblock(given(BLOCKED)), { events: [UNBLOCKED] });
  for (const state of [given(), given(BLOCKED, UNBLOCKED)]) {
    const decision = unblock(state);
    t.is('refused' in decision && decision.refused.code, 'domain_not_blocked');
  }
});

test('every event is what the vocabulary says', (t) => {
  for (const { type, data } of [BLOCKED, UNBLOCKED, { type: 'DomainBlockUpdated', data: WHY }]) {
    t.true(Value.Check(SCHEMAS[type as EventType], data), type);
  }
});
