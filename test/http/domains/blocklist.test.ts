// The blocklist in memory: read anew when it has changed, and never older than what its reader could have seen.
import test from 'ava';
import { openBlocklist } from '../../../intake/blocklist.ts';
import type { BlockedDomainDocument } from '../../../readmodels/blocked-domains.ts';

/** A list that changes, whose reading can be held up. */
function changingList() {
  const entries = new Map<string, BlockedDomainDocument>();
  let changes = 0;
  let reads = 0;
  let gate: PromiseWithResolvers<void> | null = null;
  return {
    add(domain: string) {
      changes++;
      entries.set(domain, { _id: domain, reason: 'r', block_type: 'legal', error_codes: [], added_at: '' });
    },
    remove(domain: string) {
      changes++;
      entries.delete(domain);
    },
    hold: () => void (gate = Promise.withResolvers()),
    release: () => gate?.resolve(),
    reads: () => reads,
    blocklist: openBlocklist(
      {
        async *stream() {
          reads++;
          const now = [...entries.values()];
          await gate?.promise;
          yield* now;
        },
      },
      {
        get: async (_id) => (changes === 0 ? null : { _id, position: String(changes).padStart(4, '0') }),
      },
    ),
  };
}

test('the blocklist reads its documents once for each change', async (t) => {
  const list = changingList();
  t.is((await list.blocklist.current()).entryOf('example.com'), null);
  t.is(list.reads(), 0, 'a list that never was is not read');
  list.add('example.com');
  for (let i = 0; i < 3; i++) {
    const { entryOf } = await list.blocklist.current();
    t.is(entryOf('www.example.com')?._id, 'example.com');
    t.is(entryOf('example.org'), null);
  }
  t.is(list.reads(), 1);
  list.remove('example.com');
  t.is((await list.blocklist.current()).blocked_domain_of('example.com'), null);
  t.is(list.reads(), 2);
});

test('concurrent callers share one read of the blocklist', async (t) => {
  const list = changingList();
  list.add('example.com');
  await Promise.all(Array.from({ length: 20 }, () => list.blocklist.current()));
  t.is(list.reads(), 1);
});

test('a caller after a change sees it, although an older read is in flight', async (t) => {
  const list = changingList();
  list.add('first.example');
  list.hold();
  const before = list.blocklist.current();
  while (list.reads() === 0) await new Promise(setImmediate);
  list.add('second.example');
  const after = list.blocklist.current();
  list.release();
  t.is((await before).entryOf('first.example')?._id, 'first.example');
  t.is((await after).entryOf('second.example')?._id, 'second.example');
});

test('the next caller repeats a failed read of the blocklist', async (t) => {
  let fails = true;
  const entry = { _id: 'example.com', reason: 'r', block_type: 'legal', error_codes: [], added_at: '' };
  const blocklist = openBlocklist(
    {
      async *stream() {
        if (fails) throw new Error('the documents cannot be read');
        yield entry;
      },
    },
    { get: async (_id) => ({ _id, position: '1' }) },
  );
  await t.throwsAsync(blocklist.current(), { message: 'the documents cannot be read' });
  fails = false;
  t.is((await blocklist.current()).entryOf('example.com')?._id, 'example.com');
});
