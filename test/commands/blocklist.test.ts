// The blocklist's decisions: given events, when a command, then events.
import test from 'ava';
import { Value } from 'typebox/value';
import { decide, evolve, initial, MAX_BLOCKED } from '../../commands/blocklist.ts';
import type { BlocklistEvent, DomainBlocked } from '../../events/blocked-domain.ts';
import { VOCABULARY } from '../../events/vocabulary.ts';

const domain = 'example.com';
const SAID = { domain, reason: 'The owner asked for it.', block_type: 'legal', error_codes: ['403'] };
const ENTRY: DomainBlocked = { ...SAID, added_at: '2026-01-31T09:00:00.000Z' };
const LATER: DomainBlocked = { ...ENTRY, added_at: '2026-02-01T09:00:00.000Z' };
const BLOCKED: BlocklistEvent = { type: 'DomainBlocked', data: ENTRY };
const UNBLOCKED: BlocklistEvent = { type: 'DomainUnblocked', data: { domain } };

const given = (...events: BlocklistEvent[]) => events.reduce(evolve, initial());
const block = (state: ReturnType<typeof given>, entry: DomainBlocked) => decide(state, { type: 'block', entry });

test('block adds a new domain to the list', (t) => {
  t.deepEqual(block(given(), ENTRY), { events: [BLOCKED] });
  t.deepEqual(block(given(BLOCKED, UNBLOCKED), LATER), { events: [{ type: 'DomainBlocked', data: LATER }] });
});

test('block updates the entry of a listed domain', (t) => {
  t.deepEqual(block(given(BLOCKED), LATER), { events: [] });
  const said = { ...SAID, error_codes: ['403', '999'] };
  const updated: BlocklistEvent = { type: 'DomainBlockUpdated', data: said };
  t.deepEqual(block(given(BLOCKED), { ...LATER, ...said }), { events: [updated] });
  t.is(given(BLOCKED, updated).get(domain)?.added_at, ENTRY.added_at);
  t.deepEqual(block(given(BLOCKED, updated), { ...LATER, ...said }), { events: [] });
});

test('unblock removes a domain once', (t) => {
  t.deepEqual(decide(given(BLOCKED), { type: 'unblock', domain }), { events: [UNBLOCKED] });
  for (const state of [given(), given(BLOCKED, UNBLOCKED)]) {
    t.like(decide(state, { type: 'unblock', domain }), { refused: { code: 'domain_not_blocked' } });
  }
});

test('a full list refuses other domains, and takes updates', (t) => {
  const full = given(...Array.from({ length: MAX_BLOCKED }, (_, i) => blocked(`${i}.example`)));
  t.like(block(full, ENTRY), { refused: { code: 'blocklist_full' } });
  t.like(block(full, { ...ENTRY, domain: '7.example', reason: 'another' }), {
    events: [{ type: 'DomainBlockUpdated' }],
  });
  evolve(full, { type: 'DomainUnblocked', data: { domain: '7.example' } });
  t.deepEqual(block(full, ENTRY), { events: [BLOCKED] });
});
const blocked = (name: string): BlocklistEvent => ({ type: 'DomainBlocked', data: { ...ENTRY, domain: name } });

test('every event fits the vocabulary', (t) => {
  const updated: BlocklistEvent = { type: 'DomainBlockUpdated', data: SAID };
  for (const { type, data } of [BLOCKED, UNBLOCKED, updated]) {
    t.true(Value.Check(VOCABULARY.blocklist[type].schema, data), type);
  }
});
