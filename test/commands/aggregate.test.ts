// How commands run: writers of one stream in one process take turns, in several the expected revision decides.
import test from 'ava';
import { openAggregate } from '../../commands/aggregate.ts';
import type { EventStore } from '../../events/event-store.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

type Counted = { type: 'Counted'; data: { n: number } };
const fold = { initial: () => ({ n: 0 }), evolve: (_: { n: number }, event: Counted) => ({ n: event.data.n }) };
const count = (state: Readonly<{ n: number }>) => ({
  events: [{ type: 'Counted' as const, data: { n: state.n + 1 } }],
});

test('commands that run at once, in one process and in two, each see what came before', async (t) => {
  const { log } = await openTestStores(t);
  const [here, there] = [openAggregate(log, fold), openAggregate(log, fold)];
  await Promise.all(
    Array.from({ length: 40 }, (_, i) => (i % 2 ? here : there).handle('count-1', commandContext(), count)),
  );
  t.is((await here.read('count-1')).state.n, 40);
});

test('a decision without events appends nothing and names the last position', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(log, fold);
  const first = await aggregate.handle('count-1', commandContext(), count);
  const again = await aggregate.handle('count-1', commandContext(), () => ({ events: [] }));
  t.true(first.ok && again.ok && again.appended === 0 && again.position === first.position);
});

test('a refusal appends nothing', async (t) => {
  const { log } = await openTestStores(t);
  const aggregate = openAggregate(log, fold);
  const refused = { code: 'no', message: 'No.' };
  t.deepEqual(await aggregate.handle('count-1', commandContext(), () => ({ refused })), { ok: false, refused });
  t.is(await log.head(), '');
});

test('after an append whose answer never came, the next command looks at the log again', async (t) => {
  const { log } = await openTestStores(t);
  let lost = true;
  const unreliable: EventStore = {
    ...log,
    readStream: (...args) => log.readStream(...args),
    async append(...args) {
      const result = await log.append(...args);
      if (!lost) return result;
      lost = false;
      throw Object.assign(new Error('no answer'), { code: 'unavailable' });
    },
  };
  const aggregate = openAggregate(unreliable, fold);
  await t.throwsAsync(aggregate.handle('count-1', commandContext(), count), { message: 'no answer' });
  await aggregate.handle('count-1', commandContext(), count);
  t.is((await aggregate.read('count-1')).state.n, 2);
});
