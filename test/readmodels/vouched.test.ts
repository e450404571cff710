// Nobody reads documents that no projector has made whole from this log: an absent document would say that there is nothing.
import test from 'ava';
import { identifyLog } from '../../commands/log-identity.ts';
import { BEGINNING, type EventStore } from '../../events/event-store.ts';
import { projectorStates } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openTestStores, project } from '../support/stores.ts';
import { count, counting, tallies } from '../support/tallies.ts';

const IMPATIENT = () => performance.now() * 1e6;
const idOf = (log: EventStore) => () => identifyLog(log, 'process:test', Date.now());

test('an empty store of documents answers nothing until a projector has looked at the log', async (t) => {
  const { log, documents } = await openTestStores(t);
  await count(log, 3);
  const readmodels = openReadModels(documents, { log_id: idOf(log), monotonic: IMPATIENT });
  const found = readmodels.collection(tallies);
  for (const read of [() => found.get('all'), () => found.find({}), () => found.count({}), () => readmodels.position()])
    await t.throwsAsync(read, { code: 'unavailable', message: 'no projector has made documents yet' });
  t.false(await readmodels.passed(BEGINNING, 0));
  await project({ log, documents }, [counting(1, 1)]);
  t.is((await found.get('all'))?.n, 3);
});

test('documents of a projector that ended before it had looked at the log answer nothing', async (t) => {
  const { log, documents } = await openTestStores(t);
  await count(log, 3);
  const states = await documents.collection(projectorStates);
  await states.write([{ replace: { _id: 'live', checkpoint: BEGINNING, epoch: 1 } as never }]);
  const readmodels = openReadModels(documents, { log_id: idOf(log), monotonic: IMPATIENT });
  await t.throwsAsync(readmodels.collection(tallies).get('all'), { code: 'unavailable' });
});

test('a log with nothing in it has empty read models', async (t) => {
  const { log, documents } = await openTestStores(t);
  const readmodels = openReadModels(documents, { log_id: idOf(log), monotonic: IMPATIENT });
  await project({ log, documents }, [counting(1, 1)]);
  t.deepEqual(await readmodels.collection(tallies).find({}), []);
});

test('a collection that a later version has, and no projector of that version has built, answers nothing', async (t) => {
  const { log, documents } = await openTestStores(t);
  await count(log, 3);
  await project({ log, documents }, [counting(1, 1)]);
  const later = { ...tallies, name: 'later_tallies' };
  const readmodels = openReadModels(documents, { log_id: idOf(log), monotonic: IMPATIENT });
  await t.throwsAsync(readmodels.collection(later).get('all'), {
    code: 'unavailable',
    message: 'later_tallies is not built yet',
  });
  t.is((await readmodels.collection(tallies).get('all'))?.n, 3, 'the others are read');
  const made = counting(1, 1);
  const apply: typeof made.apply = async (events, open, ...rest) => {
    await (await open(later)).write([{ replace: { _id: 'all', n: events.length } }]);
    await made.apply(events, open, ...rest);
  };
  await project({ log, documents }, [{ ...made, version: 2, collections: [tallies, later], apply }]);
  t.is((await readmodels.collection(later).get('all'))?.n, 3);
});
