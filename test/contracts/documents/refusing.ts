// Calls outside the subset are errors of the caller: the store ignores nothing.
import type { ExecutionContext } from 'ava';
import type { CollectionSpec, Filter, FindOptions, Write } from '../../../readmodels/documents.ts';
import { type Sentence, THINGS, type Thing } from './fixture.ts';

async function refuses(t: ExecutionContext, work: () => Promise<unknown>, what: unknown): Promise<void> {
  const error = await t.throwsAsync(work, undefined, JSON.stringify(what));
  t.is((error as Error & { code?: string })?.code, 'unsupported_query', `${JSON.stringify(what)}: ${error?.message}`);
}

export function refusing(sentence: Sentence): void {
  sentence('a filter outside the subset is refused', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ insert: { _id: 'kept', n: 1 } }]);
    const filters: unknown[] = [
      { undeclared: 1 },
      { 'deep.y': 1 },
      { deep: 1 },
      { constructor: 1 },
      { $nor: [{ n: 1 }] },
      { $where: 'true' },
      { $expr: {} },
      { $and: [] },
      { $or: [] },
      { $or: { n: 1 } },
      { $or: Array.from({ length: 501 }, () => ({})) },
      { $or: Array.from({ length: 300 }, (_, n) => ({ n })) },
      {
        $and: [
          { $and: [{ $and: [{ $and: [{ $and: [{ $and: [{ $and: [{ $and: [{ $and: [{ n: 1 }] }] }] }] }] }] }] }] },
        ],
      },
      { $or: [{ undeclared: 1 }] },
      { n: { $mod: [2, 0] } },
      { n: { $not: { $gt: 1 } } },
      { n: { gt: 1 } },
      { n: {} },
      { n: { x: 1 } },
      { n: { $eq: 1 } },
      { n: { $ne: { x: 1 } } },
      { n: { $ne: [1] } },
      { n: [1] },
      { n: undefined },
      { n: { $gt: undefined } },
      { n: { $gt: null } },
      { n: { $lt: true } },
      { n: Number.NaN },
      { n: Number.POSITIVE_INFINITY },
      { n: new Date(0) },
      { n: /1/ },
      { n: 1n },
      { n: { $in: 1 } },
      { n: { $in: [[1]] } },
      { n: { $in: [{}] } },
      { n: { $in: Array.from({ length: 10_001 }, (_, n) => n) } },
      { n: { $exists: true } },
      { text: { $contains: 1 } },
      { text: { $contains: 'nul\0' } },
      { text: { $contains: 'x'.repeat(5_000) } },
      { text: { $regex: '(' } },
      { text: { $regex: '[]' } },
      { text: { $regex: /x/ } },
      { text: { $regex: 'x'.repeat(1_001) } },
      { text: { $regex: 'x', $options: 'i' } },
      { text: { $elemMatch: { $ne: 'a' } } },
      [],
      'n = 1',
    ];
    for (const filter of filters as Filter[]) {
      const shown =
        typeof filter === 'object' ? Object.entries(filter).map(([name, value]) => [name, String(value)]) : filter;
      await refuses(t, () => things.find(filter), shown);
      await refuses(t, () => things.count(filter), shown);
      await refuses(t, () => things.write([{ deleteMany: filter }]), shown);
      await refuses(
        t,
        async () => {
          for await (const _ of things.stream(filter)) t.fail('nothing is found');
        },
        shown,
      );
    }
    t.is(await things.count({}), 1);
  });

  sentence('a page outside the limits is refused', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const pages: unknown[] = [
      { sort: { undeclared: 1 } },
      { sort: { n: 2 } },
      { sort: { n: 'asc' } },
      { limit: 0 },
      { limit: -1 },
      { limit: 20_001 },
      { limit: 1.5 },
      { skip: -1 },
      { skip: 0.5 },
      { after: [] },
      { sort: { n: 1 }, after: [1] },
      { sort: { n: 1 }, after: [1, 'a', 'b'] },
      { sort: { n: 1 }, after: [{}, 'a'] },
      { sort: { n: 1 }, after: [1, 1] },
      { sort: { n: 1 }, after: [1, 'a'], skip: 1 },
      { project: { n: 1 } },
    ];
    for (const page of pages as FindOptions[]) await refuses(t, () => things.find({}, page), page);
    await refuses(t, () => things.getMany(Array.from({ length: 20_001 }, () => 'x')), '20,001 ids');
  });

  sentence('a write outside the subset is refused, and the whole batch with it', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    let deep: unknown = 1;
    for (let level = 0; level < 101; level += 1) deep = { deep };
    const writes: unknown[] = [
      {},
      { upsert: { _id: 'x' } },
      { insert: { _id: 'x' }, replace: { _id: 'x' } },
      { insert: {} },
      { insert: { _id: 7 } },
      { insert: { _id: '' } },
      { insert: { _id: 'x', n: Number.NaN } },
      { insert: { _id: 'x', other: new Date(0) } },
      { insert: { _id: 'x', other: [undefined] } },
      { insert: { _id: 'x', other: 1n } },
      { insert: { _id: 'x', other: new Map() } },
      { insert: { _id: 'x', $set: 1 } },
      { insert: { _id: 'x', other: { 'nul\0': 1 } } },
      { insert: { _id: 'x', other: deep } },
      { insert: { _id: 'x', text: { an: 'object' } } },
      { insert: { _id: 'x', text: ['an array'] } },
      { insert: { _id: 'x', deep: [{ x: 1 }] } },
      { replace: { _id: 'x', n: { an: 'object' } } },
      { insert: { _id: 'x', other: 'x'.repeat(17 * 1024 * 1024) } },
      { update: 'x', set: { $push: { list: 'a' } } },
      { update: 'x', set: { $unset: { n: true } } },
      { update: 'x', set: { n: 1 } },
      { update: 'x', set: { $set: { _id: 'y' } } },
      { update: 'x', set: { $set: { n: undefined } } },
      { update: 'x', set: { $set: { n: [1] } } },
      { update: 'x', set: { $set: { 'n.x': 1 } } },
      { update: 'x', set: { $set: { deep: { x: {} } } } },
      { update: 'x', set: { $set: { '': 1 } } },
      { update: 'x', set: { $set: { 'a..b': 1 } } },
      { update: 'x', set: { $set: { 'a.$': 1 } } },
      { update: 'x', set: { $set: { '__proto__.polluted': 1 } }, upsert: true },
      { update: 'x', set: { $set: { a: 1 }, $inc: { a: 1 } } },
      { update: 'x', set: { $set: { a: {} }, $inc: { 'a.b': 1 } } },
      { update: 'x', set: { $inc: { n: '1' } } },
      { update: 'x', set: { $set: { a: 1 } }, multi: true },
      { update: 7, set: { $set: { a: 1 } } },
      { delete: 7 },
    ];
    for (const [place, write] of (writes as Write<Thing>[]).entries()) {
      await refuses(t, () => things.write([{ insert: { _id: 'before' } }, write]), `write ${place} of the list`);
    }
    const many = Array.from({ length: 10_001 }, () => ({ delete: 'x' }));
    await refuses(t, () => things.write(many), '10,001 writes');
    t.is(await things.count({}), 0);
    t.false('polluted' in {});
  });

  sentence('a declaration that cannot be kept is refused', async (t, { documents }) => {
    const specs: unknown[] = [
      { name: '', fields: {}, indexes: [] },
      { name: 'Upper', fields: {}, indexes: [] },
      { name: 'system.x', fields: {}, indexes: [] },
      { name: 'sqlite_x', fields: {}, indexes: [] },
      { name: 'a"b', fields: {}, indexes: [] },
      { name: 'x', fields: { a: 'date' }, indexes: [] },
      { name: 'x', fields: { 'a..b': 'string' }, indexes: [] },
      { name: 'x', fields: { $a: 'string' }, indexes: [] },
      { name: 'x', fields: { a: 'string', 'a.b': 'string' }, indexes: [] },
      { name: 'x', fields: {}, indexes: [{ fields: { a: 1 } }] },
      { name: 'x', fields: { a: 'string' }, indexes: [{ fields: {} }] },
      { name: 'x', fields: { a: 'string' }, indexes: [{ fields: { a: 2 } }] },
      { name: 'x', fields: { a: 'array' }, indexes: [] },
    ];
    for (const spec of specs as CollectionSpec<Thing>[]) await refuses(t, () => documents.collection(spec), spec);
    t.deepEqual(await documents.names(), []);
  });
}
