// What fails for one document holds up no other, and is tried again later.
import test, { type ExecutionContext } from 'ava';
import { firstOthers, openApart, openPutOff } from '../../processes/put-off.ts';
import type { CollectionSpec } from '../../readmodels/documents.ts';
import { openTestStores } from '../support/stores.ts';

interface Due {
  _id: string;
  user_id: string;
  due_at: string;
}
const SPEC: CollectionSpec<Due> = { name: 'dues', fields: { due_at: 'string' }, indexes: [{ fields: { due_at: 1 } }] };

async function dues(t: ExecutionContext, ids: readonly string[]) {
  const documents = await (await openTestStores(t)).documents.collection(SPEC);
  await documents.write(
    ids.map((_id, n) => ({ replace: { _id, user_id: _id.split('-')[0]!, due_at: `2026-01-${10 + n}` } })),
  );
  return documents;
}
const idsOf = (documents: readonly { _id: string }[]) => documents.map(({ _id }) => _id);

test('a document whose work fails is logged and left alone for a while, and those after it are found', async (t) => {
  const documents = await dues(t, ['damaged-1', 'damaged-2', 'sound-1', 'sound-2']);
  let now = 0;
  const lines: object[] = [];
  const logger = { error: (fields: object) => void lines.push(fields) };
  const apart = openApart('it fails', { logger, monotonic: () => now });
  const pass = async () => {
    const done: string[] = [];
    await apart.each(await apart.find(documents, {}, 2), async ({ _id }) => {
      if (_id.startsWith('damaged')) throw new Error('the event is damaged');
      done.push(_id);
    });
    return done;
  };
  t.deepEqual(await pass(), []);
  t.deepEqual(await pass(), ['sound-1', 'sound-2'], 'the damaged ones do not fill the next pass');
  t.like(lines, [{ id: 'damaged-1' }, { id: 'damaged-2' }]);
  t.is(lines.length, 2);
  now += 10 * 60_000;
  t.deepEqual(await pass(), []);
  t.is(lines.length, 4);
});

test('a store that is away puts nothing off', async (t) => {
  const documents = await dues(t, ['a', 'b', 'c']);
  const logger = { error: () => t.fail() };
  const apart = openApart('it fails', { logger, monotonic: () => 0 });
  const asked: string[] = [];
  const pass = async () =>
    apart.each(await apart.find(documents, {}, 10), async ({ _id }) => {
      asked.push(_id);
      throw Object.assign(new Error('away'), { code: 'unavailable' });
    });
  await t.throwsAsync(pass);
  await t.throwsAsync(pass);
  t.is(asked.length, 6);
});

test('what is put off may be a user, of whom any number of documents stand before the others', async (t) => {
  const documents = await dues(t, [...Array.from({ length: 7 }, (_, n) => `alice-${n}`), 'bob-0', 'carol-0']);
  const put_off = openPutOff(() => 0);
  const find = (field: 'due_at' | '_id') => firstOthers(documents, {}, field, 2, put_off, ({ user_id }) => user_id);
  t.deepEqual(idsOf(await find('due_at')), ['alice-0', 'alice-1']);
  put_off.add('alice');
  t.deepEqual(idsOf(await find('due_at')), ['bob-0', 'carol-0']);
  t.deepEqual(idsOf(await find('_id')), ['bob-0', 'carol-0']);
});
