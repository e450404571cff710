// Each checker has hosts of its own: the dispatcher sends it their URLs, also while checkers come and go.
import test from 'ava';
import { assignPartitions, partitionOf } from '../../checkers/partitions.ts';
import { WORK_SUBJECT, type Work, workSubjectOf } from '../../checkers/work.ts';
import { dispatcherOver, job } from '../support/dispatching.ts';

const ownerAmong =
  (...ids: string[]) =>
  (url: string) =>
    workSubjectOf(assignPartitions(ids)[partitionOf(new URL(url).hostname)]!);

test('each checker gets the URLs of its hosts, in large messages', async (t) => {
  const world = dispatcherOver([job('a', 'alice', 1000)], [], { hosts: 200 });
  const { pass, alive, sent, messages } = world;
  alive('c1', 'c2', 'c3', 'c4');
  await pass();
  t.is(sent().size, 0, 'nobody before all of them know of each other');
  alive('c1', 'c2', 'c3', 'c4');
  await pass();
  const by_subject = sent();
  const ownerOf = ownerAmong('c1', 'c2', 'c3', 'c4');
  t.is(by_subject.size, 4);
  for (const [subject, urls] of by_subject) t.true(urls.every((url) => ownerOf(url) === subject));
  const all = [...by_subject.values()].flat();
  t.is(all.length, 1000);
  t.is(new Set(all).size, 1000);
  t.true(messages().length <= 14, `${messages().length} messages`);
  t.true(messages().every(({ body }) => (body as Work).view! > 0));
});

test('a lone checker gets messages as before, whole batches each', async (t) => {
  const { pass, alive, sent, published } = dispatcherOver([job('a', 'alice', 300)], [], { hosts: 20 });
  alive('c1');
  await pass();
  t.deepEqual([...sent().keys()], [workSubjectOf('c1')]);
  t.deepEqual(published(), ['a:0-100', 'a:100-200', 'a:200-300']);
});

test('hosts of a new checker are sent to it when the former one has let them go, what was sent before too', async (t) => {
  const { pass, alive, sent } = dispatcherOver([job('a', 'alice', 300)], [], { hosts: 30 });
  alive('c1');
  await pass();
  t.is(sent().get(workSubjectOf('c1'))!.length, 300);
  alive('c1', 'c2');
  await pass();
  t.is(sent().size, 0, 'c1 has not let go yet');
  alive('c1', 'c2');
  await pass();
  const again = sent();
  t.deepEqual([...again.keys()], [workSubjectOf('c2')]);
  const ownerOf = ownerAmong('c1', 'c2');
  t.true(again.get(workSubjectOf('c2'))!.every((url) => ownerOf(url) === workSubjectOf('c2')));
  t.true(again.get(workSubjectOf('c2'))!.length > 60);
});

test('what a checker had that leaves or falls silent goes to the others, and only what the log lacks', async (t) => {
  const one = job('a', 'alice', 300);
  const { pass, alive, leave, sent, later, take, waiting } = dispatcherOver([one], [], { hosts: 30 });
  for (let n = 0; n < 2; n++) {
    alive('c1', 'c2', 'c3');
    await pass();
  }
  take(waiting());
  const before = sent();
  const total = [...before.values()].flat().length;
  t.is(total, 300);
  leave('c3');
  await pass();
  for (let n = 0; n < 4; n++) {
    alive('c1', 'c2');
    await pass();
    take(waiting());
  }
  const moved = [...sent().values()].flat();
  for (const url of before.get(workSubjectOf('c3'))!) t.true(moved.includes(url), url);
  one.batches_done = { 0: 100, 1: 100 };
  for (let n = 0; n < 6; n++) {
    later(1000);
    alive('c1');
    await pass();
  }
  const isOpen = (url: string) => Number(new URL(url).pathname.slice(1)) >= 200;
  const rest = sent().get(workSubjectOf('c1'))!;
  t.true(rest.every(isOpen));
  for (const url of before.get(workSubjectOf('c2'))!.filter(isOpen)) t.true(rest.includes(url), url);
});

test('beside checkers of an older version all work is for anyone', async (t) => {
  const documents = [job('a', 'alice', 100)];
  const world = dispatcherOver(documents, [], { hosts: 30 });
  const { pass, alive, sent, leave } = world;
  alive('c1');
  world.announce(10);
  await pass();
  t.deepEqual([...sent().keys()], [WORK_SUBJECT]);
  leave('c');
  await pass();
  t.deepEqual([...sent().keys()], [workSubjectOf('c1')], 'and again for its checker once they are gone');
});
