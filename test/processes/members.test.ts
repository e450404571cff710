// Orders of events in which the dispatcher once forgot a checker, or stopped.
import test from 'ava';
import type { Alive } from '../../checkers/work.ts';
import { Members } from '../../processes/members.ts';

const URLS = Array.from({ length: 60 }, (_, n) => `https://h${n}.example/`);

/** Members to which checkers announce themselves: by default, as one that knows the present view. */
function openMembers() {
  const members = new Members(7, 0);
  const hear = (id: string, now: number, more: Partial<Alive> = {}) =>
    members.observe({ id, leaves: false, has_subject: true, view: members.view, ...more }, now);
  const targets = () => [...new Set(URLS.map((url) => members.targetOf(url)))].sort();
  return { members, hear, targets };
}

test('checkers that all leave while hosts move between them stop no dispatcher', (t) => {
  const { members, hear, targets } = openMembers();
  hear('a', 0, { view: 0 });
  members.look(0);
  const { view } = members;
  hear('b', 2000, { view: 0 });
  hear('a', 2000, { view, settled: view });
  members.look(2000);
  t.true(targets().includes(null));
  for (const id of ['a', 'b']) members.observe({ id, leaves: true }, 2500);
  t.deepEqual(members.look(2500).gone, ['a', 'b']);
  t.deepEqual(targets(), [null]);
});

test('the queue that is away for long makes no checker seem dead', (t) => {
  const { members, hear, targets } = openMembers();
  for (const id of ['a', 'b', 'c']) hear(id, 0, { view: 0 });
  members.look(0);
  for (const id of ['a', 'b', 'c']) hear(id, 100, { settled: members.view });
  members.look(100);
  const before = targets();
  const gone: string[] = [];
  for (let now = 500; now < 20_000; now += 500) {
    // The queue is away before it is known of the third one that it is dead.
    if (now <= 4000) for (const id of ['a', 'b']) hear(id, now, { settled: members.view });
    if (now <= 4000) members.observeItself({ view: members.view, ids: [], is_mixed: false }, now);
    gone.push(...members.look(now).gone);
  }
  t.deepEqual(before, ['a', 'b', 'c']);
  t.deepEqual(gone, ['c']);
});

test('a checker that was silent before it heard that it is a member is counted again', (t) => {
  const { members, hear, targets } = openMembers();
  hear('a', 0, { view: 0 });
  hear('b', 0, { view: 0 });
  const looks = (from: number, to: number) => {
    for (let now = from; now <= to; now += 500) {
      hear('a', now, { settled: members.view });
      members.observeItself({ view: members.view, ids: [], is_mixed: false }, now);
      members.look(now);
    }
  };
  looks(0, 6000);
  t.deepEqual(targets(), ['a']);
  hear('b', 6500, { view: 0 });
  looks(6500, 7000);
  hear('b', 7500, { settled: members.view });
  looks(7500, 8000);
  t.deepEqual(targets(), ['a', 'b']);
});

test('a checker that slept through the work of a dispatcher comes back, though it knows a later view', (t) => {
  const { members, hear } = openMembers();
  hear('a', 0, { view: 0 });
  members.look(0);
  members.targetOf(URLS[0]!);
  const latest = { view: members.view + 2 ** 20, ids: ['b'], is_mixed: false };
  hear('b', 1000, { view: latest.view, latest });
  t.true(members.look(1000).is_superseded);
  t.true(members.view > latest.view);
});
