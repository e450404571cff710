// What fails for one document holds up no other, and is tried again later.
import test from 'ava';
import { openEachApart } from '../../processes/put-off.ts';

const DOCUMENTS = ['a', 'damaged', 'b'].map((_id) => ({ _id }));

test('a document whose work fails is logged and left alone for a while, and the others are worked on', async (t) => {
  let now = 0;
  const lines: object[] = [];
  const logger = { error: (fields: object) => void lines.push(fields) };
  const each = openEachApart('it fails', { logger, monotonic: () => now });
  const done: string[] = [];
  const pass = () =>
    each(DOCUMENTS, async ({ _id }) => {
      if (_id === 'damaged') throw new Error('the event is damaged');
      done.push(_id);
    });
  await pass();
  await pass();
  t.deepEqual(done, ['a', 'b', 'a', 'b']);
  t.like(lines, [{ id: 'damaged' }]);
  t.is(lines.length, 1);
  now += 10 * 60_000;
  await pass();
  t.is(lines.length, 2);
});

test('a store that is away puts nothing off', async (t) => {
  const logger = { error: () => t.fail() };
  const each = openEachApart('it fails', { logger, monotonic: () => 0 });
  const asked: string[] = [];
  const pass = () =>
    each(DOCUMENTS, async ({ _id }) => {
      asked.push(_id);
      throw Object.assign(new Error('away'), { code: 'unavailable' });
    });
  await t.throwsAsync(pass);
  await t.throwsAsync(pass);
  t.is(asked.length, 6);
});
