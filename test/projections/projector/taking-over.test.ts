// A projector that takes the work over says that it works when its read models move, and no sooner.
import test from 'ava';
import type { RoleState } from '../../../roles/holding.ts';
import { until } from '../../support/behind.ts';
import { openTestStores, project } from '../../support/stores.ts';
import { count, counting, startProjector } from '../../support/tallies.ts';

test('a projector works when it has moved the read models', async (t) => {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  await count(log, 2);
  await project(stores, [counting(1, 1)]);
  await count(log, 1);

  const delivers = Promise.withResolvers<void>();
  const slow = Object.create(log, {
    subscribe: {
      value: async function* (options: Parameters<typeof log.subscribe>[0]) {
        await delivers.promise;
        yield* log.subscribe(options);
      },
    },
    head: { value: () => log.head() },
    append: { value: log.append.bind(log) },
    readStream: { value: log.readStream.bind(log) },
    readAll: { value: log.readAll.bind(log) },
  }) as typeof log;
  let state: RoleState | null = null;
  let rounds = 0;
  const stop = new AbortController();
  const running = startProjector({ log: slow, documents }, [counting(1, 1)], stop.signal, {
    say: (said) => void (state = said),
    advanced: (_, is_building) => void (rounds += is_building ? 0 : 1),
  });
  await until(() => rounds > 0);
  t.is(state as RoleState | null, 'waiting', 'it has read nothing yet');
  delivers.resolve();
  await until(() => state === 'working');
  stop.abort();
  await running;
});

test('a projector with nothing to read works after its first round', async (t) => {
  const stores = await openTestStores(t);
  await count(stores.log, 2);
  await project(stores, [counting(1, 1)]);
  let state: RoleState | null = null;
  const stop = new AbortController();
  const running = startProjector(stores, [counting(1, 1)], stop.signal, { say: (said) => void (state = said) });
  await until(() => state === 'working');
  stop.abort();
  await running;
  t.pass();
});
