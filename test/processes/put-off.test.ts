// What fails for one document holds up no other, and is tried again: after a while, or at once when the fault of several has ended.
import test, { type ExecutionContext } from 'ava';
import { ManagerRunner } from '../../processes/manager-runner.ts';
import { ManagerWatch } from '../../processes/manager-watch.ts';
import { type Done, Later, processManager } from '../../processes/process-manager.ts';
import { firstOthers, PutOff } from '../../processes/put-off.ts';
import type { CollectionSpec } from '../../readmodels/documents.ts';
import type { ReadModels } from '../../readmodels/read-models.ts';
import { openTestStores } from '../support/stores.ts';

interface Due {
  _id: string;
  user_id: string;
  due_at: string;
}
const SPEC: CollectionSpec<Due> = { name: 'dues', fields: { due_at: 'string' }, indexes: [{ fields: { due_at: 1 } }] };
const NOW = Date.parse('2026-02-01T00:00:00Z');
const SECOND = 1000;
const never = new AbortController().signal;

async function dues(t: ExecutionContext, ids: readonly string[]) {
  const documents = await (await openTestStores(t)).documents.collection(SPEC);
  await documents.write(
    ids.map((_id, n) => ({ replace: { _id, user_id: _id.split('-')[0]!, due_at: `2026-01-${10 + n}T00:00:00Z` } })),
  );
  return documents;
}
const idsOf = (documents: readonly { _id: string }[]) => documents.map(({ _id }) => _id);

/** A manager over documents, of which those fail that `fails` names; what is done is removed. */
async function world(t: ExecutionContext, ids: readonly string[], at_once = 100, most_failures?: number) {
  const documents = await dues(t, ids);
  const clock = { now: 0 };
  const fails = new Map<string, Error | Later>();
  const lines: string[] = [];
  const tried: string[] = [];
  const watch = new ManagerWatch('mails', () => clock.now);
  const error = ({ id }: { id: string }) => void lines.push(id);
  const manager = processManager<Due>({
    ...{ name: 'mails', finds: { in: SPEC, where: {} }, order: 'due_at', since: ({ due_at }) => due_at, at_once },
    async work({ _id }): Promise<Done> {
      tried.push(_id);
      const outcome = fails.get(_id);
      if (outcome instanceof Later) return outcome;
      if (outcome) throw outcome;
      await documents.write([{ delete: _id }]);
      return _id;
    },
    fails: 'it fails',
    ...(most_failures !== undefined && { most_failures, at_a_time: 1 }),
  });
  const runner = new ManagerRunner(manager, {
    ...{ readmodels: { collection: () => documents } as unknown as ReadModels, watch },
    ...{ logger: { error, warn: error } as never, now: () => NOW + clock.now, monotonic: () => clock.now },
  });
  return {
    ...{ documents, clock, fails, lines, watch },
    /** Returns the ids that were tried. */
    async pass() {
      await runner.pass(never);
      return tried.splice(0).toSorted();
    },
  };
}

test('a document whose work fails is logged and left alone for a while, and those after it are found', async (t) => {
  const { fails, lines, clock, pass } = await world(t, ['damaged-1', 'damaged-2', 'sound-1', 'sound-2'], 2);
  for (const id of ['damaged-1', 'damaged-2']) fails.set(id, new Error('the event is damaged'));
  t.deepEqual(await pass(), ['damaged-1', 'damaged-2']);
  t.deepEqual(await pass(), ['sound-1', 'sound-2'], 'the damaged ones do not fill the next pass');
  t.deepEqual(await pass(), []);
  t.deepEqual(lines, ['damaged-1', 'damaged-2']);
  clock.now += 10 * 60 * SECOND;
  t.deepEqual(await pass(), ['damaged-1', 'damaged-2']);
  t.is(lines.length, 4);
});

test('when a fault has ended, one finds out within seconds, and all others are tried at once', async (t) => {
  const ids = Array.from({ length: 20 }, (_, n) => `m-${10 + n}`);
  const { fails, lines, clock, pass, watch } = await world(t, ids);
  for (const id of ids) fails.set(id, Object.assign(new Error('the server is away'), { code: 'ECONNREFUSED' }));
  t.is((await pass()).length, 20);
  for (let second = 0; second < 60; second++) {
    clock.now += SECOND;
    const tried = await pass();
    t.true(tried.length <= 3, 'a few are tried');
  }
  t.is(lines.length, 20, 'each failure is told once in five minutes');
  t.like(watch.sign(), { put_off: 20, reason: 'ECONNREFUSED', failing_ms: null });
  t.is(watch.sign().oldest_pending_ms, NOW + clock.now - Date.parse('2026-01-10T00:00:00Z'));
  fails.clear();
  for (let second = 0; second < 6; second++) {
    clock.now += SECOND;
    await pass();
  }
  t.like(watch.sign(), { put_off: 0, oldest_pending_ms: 0 });
});

test('a damaged document among those that an absent server held up delays them by seconds', async (t) => {
  const { fails, clock, pass, documents } = await world(t, ['damaged-1', 'damaged-2', 'a', 'b', 'c', 'd']);
  for (const id of ['damaged-1', 'damaged-2', 'a', 'b', 'c', 'd']) fails.set(id, new Error('away'));
  await pass();
  for (const id of ['a', 'b', 'c', 'd']) fails.delete(id);
  for (let second = 0; second < 10; second++) {
    clock.now += SECOND;
    await pass();
  }
  t.deepEqual(idsOf(await documents.find({})), ['damaged-1', 'damaged-2']);
});

test('what failed before, and a pass that gives up does not come to, is still put off', async (t) => {
  const { clock, fails, watch, pass } = await world(t, ['a', 'b', 'c', 'd'], 100, 2);
  for (const id of ['a', 'b', 'c', 'd']) fails.set(id, new Error('no'));
  t.deepEqual(
    [await pass(), await pass()],
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  );
  t.is(watch.sign().put_off, 4);
  clock.now += 5 * 60 * SECOND;
  t.is((await pass()).length, 2);
  t.is(watch.sign().put_off, 4);
});

test('work that is not due yet is no failure, and is looked at again at its time', async (t) => {
  const { fails, lines, clock, pass, watch } = await world(t, ['early', 'now']);
  fails.set('early', new Later(60 * SECOND));
  t.deepEqual(await pass(), ['early', 'now']);
  t.deepEqual(await pass(), []);
  t.like(watch.sign(), { failures: 0, put_off: 0 });
  clock.now += 60 * SECOND;
  fails.clear();
  t.deepEqual(await pass(), ['early']);
  t.deepEqual(lines, []);
});

test('a store that is away puts nothing off', async (t) => {
  const { fails, lines, pass } = await world(t, ['a', 'b', 'c']);
  const away = Object.assign(new Error('away'), { code: 'unavailable' });
  for (const id of ['a', 'b', 'c']) fails.set(id, away);
  await t.throwsAsync(pass);
  fails.clear();
  t.deepEqual(await pass(), ['a', 'a', 'b', 'b', 'c', 'c']);
  t.deepEqual(lines, []);
});

test('what is put off may be a user, of whom any number of documents stand before the others', async (t) => {
  const documents = await dues(t, [...Array.from({ length: 7 }, (_, n) => `alice-${n}`), 'bob-0', 'carol-0']);
  const put_off = new PutOff(() => 0);
  const find = (field: 'due_at' | '_id') => firstOthers(documents, {}, field, 2, put_off, ({ user_id }) => user_id);
  t.deepEqual(idsOf(await find('due_at')), ['alice-0', 'alice-1']);
  put_off.fail('alice');
  t.deepEqual(idsOf(await find('due_at')), ['bob-0', 'carol-0']);
  t.deepEqual(idsOf(await find('_id')), ['bob-0', 'carol-0']);
});

test('what receivers answered is counted, and those who send nothing have no count', (t) => {
  const watch = new ManagerWatch('webhooks', () => 0);
  t.false('sent' in watch.sign());
  for (const is_taken of [true, false, false]) watch.sent(is_taken);
  t.deepEqual(watch.sign().sent, { taken: 1, refused: 2 });
});
