// The order of documents, and pages of it.
import fc from 'fast-check';
import type { Scalar, Sort } from '../../../readmodels/documents.ts';
import { filter, sort, thing } from './arbitraries.ts';
import { fill, idOf, ids, type Sentence, THINGS, type Thing } from './fixture.ts';
import { keyset, matching, sorted } from './oracle.ts';

export function paging(sentence: Sentence): void {
  sentence(
    'null and missing come before numbers, numbers before texts, texts before booleans',
    async (t, { documents }) => {
      const things = await documents.collection<Thing>(THINGS);
      const values: Scalar[] = [null, -1, 0, 9, 10, '', '10', '9', 'A', 'a', '\uffee', '😀', false, true];
      await things.write(values.map((n, place) => ({ insert: { _id: idOf(place + 1), n } })));
      await things.write([{ insert: { _id: idOf(0) } }]);
      const expected = [undefined, ...values];
      t.deepEqual(
        (await things.find({}, { sort: { n: 1 } })).map(({ n }) => n),
        expected,
      );
      t.deepEqual(
        (await things.find({}, { sort: { n: -1 } })).map(({ n }) => n),
        expected.toReversed(),
      );
    },
  );

  sentence(
    'equal documents have the order of their ids, and the reverse sort has the reverse order',
    async (t, { documents }) => {
      await fill(documents, 50, (n) => ({ group: `g${n % 3}` }));
      const things = await documents.collection<Thing>(THINGS);
      const forwards = ids(await things.find({}, { sort: { group: 1 } }));
      t.deepEqual(forwards.slice(0, 3), [idOf(0), idOf(3), idOf(6)]);
      t.deepEqual(ids(await things.find({}, { sort: { group: -1 } })), forwards.toReversed());
      t.deepEqual(ids(await things.find({})), ids(await things.find({}, { sort: { _id: 1 } })));
      t.deepEqual(ids(await things.find({}, { sort: { _id: -1 } })), ids(await things.find({})).toReversed());
    },
  );

  sentence(
    'any declared index gives the same pages, and one that is not declared is refused',
    async (t, { documents }) => {
      await fill(documents, 50, (n) => ({ group: `g${n % 3}`, n: n % 7 }));
      const things = await documents.collection<Thing>(THINGS);
      for (const sort of [{ group: 1 }, { n: -1 }] as Sort[]) {
        const query = { sort, skip: 5, limit: 9 };
        const expected = ids(await things.find({ n: { $gt: 1 } }, query));
        t.is(expected.length, 9);
        for (const index of THINGS.indexes) {
          t.deepEqual(ids(await things.find({ n: { $gt: 1 } }, { ...query, index })), expected, JSON.stringify(index));
        }
      }
      await t.throwsAsync(things.find({}, { index: { fields: { group: 1, n: -1, _id: -1 } } }), {
        code: 'unsupported_query',
      });
    },
  );

  sentence('pages by keyset and by skip give the whole order, for any sort and filter', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const made = fc.sample(thing, 120).map((fields, n): Thing => ({ _id: idOf(n), ...fields }));
    await things.write(made.map((insert) => ({ insert })));
    const query = fc.tuple(fc.oneof(fc.constant({}), filter), sort, fc.integer({ min: 7, max: 40 }));
    await fc.assert(
      fc.asyncProperty(query, async ([where, order, limit]) => {
        const expected = sorted(matching(made, where), order);
        t.deepEqual(ids(await things.find(where, { sort: order })), ids(expected));
        const byKeyset: Thing[] = [];
        for (let after: Scalar[] | undefined; ; after = keyset(byKeyset.at(-1)!, order)) {
          const page = await things.find(where, { sort: order, limit, after });
          byKeyset.push(...page);
          if (page.length < limit) break;
        }
        t.deepEqual(ids(byKeyset), ids(expected));
        const skip = Math.min(limit, expected.length);
        const skipped = await things.find(where, { sort: order, skip, limit });
        t.deepEqual(ids(skipped), ids(expected.slice(skip, skip + limit)));
      }),
      { numRuns: 100 },
    );
  });

  sentence('a page continues after values that no document has', async (t, { documents }) => {
    await fill(documents, 10, (n) => ({ n: n * 10 }));
    const things = await documents.collection<Thing>(THINGS);
    const after = async (order: Sort, values: Scalar[]) =>
      (await things.find({}, { sort: order, after: values, limit: 2 })).map(({ n }) => n);
    t.deepEqual(await after({ n: 1 }, [35, 'x']), [40, 50]);
    t.deepEqual(await after({ n: -1 }, [35, 'x']), [30, 20]);
    t.deepEqual(await after({ n: 1 }, [30, '']), [30, 40]);
    t.deepEqual(await after({ n: 1 }, [null, '']), [0, 10]);
    t.deepEqual(await after({ n: -1 }, [null, '']), []);
    t.deepEqual(await after({ n: 1 }, [true, 'x']), []);
    t.deepEqual(await after({ n: -1 }, ['text', 'x']), [90, 80]);
  });

  sentence('an order that ends with an identity has the same pages', async (t, { documents }) => {
    const things = await documents.collection<Thing>({
      ...THINGS,
      indexes: [{ fields: { group: 1, n: 1 } }],
      identity: ['group', 'n'],
    });
    const made = Array.from({ length: 60 }, (_, n): Thing => ({ _id: idOf(97 * n), group: `g${n % 2}`, n: n >> 1 }));
    await things.write([...made.map((insert) => ({ insert })), { insert: { _id: 'none', group: 'g1' } }]);
    for (const direction of [1, -1] as const) {
      const expected = sorted([...made.filter(({ group }) => group === 'g1'), { _id: 'none' }], { n: direction });
      const found: Thing[] = [];
      for (let after: Scalar[] | undefined; ; after = keyset(found.at(-1)!, { n: direction })) {
        const page = await things.find({ group: 'g1' }, { sort: { n: direction }, limit: 7, after });
        found.push(...page);
        if (page.length < 7) break;
      }
      t.deepEqual(ids(found), ids(expected));
    }
  });

  sentence('a page has 1,000 documents by default and at most 10,000', async (t, { documents }) => {
    await fill(documents, 11_000, (n) => ({ n, group: 'g' }));
    const things = await documents.collection<Thing>(THINGS);
    t.is((await things.find({})).length, 1_000);
    const page = await things.find({ group: 'g' }, { sort: { n: -1 }, limit: 10_000 });
    t.is(page.length, 10_000);
    t.is(page[0]!.n, 10_999);
    t.is(page.at(-1)!.n, 1_000);
    const rest = await things.find(
      { group: 'g' },
      { sort: { n: -1 }, limit: 10_000, after: [1_000, page.at(-1)!._id] },
    );
    t.is(rest.length, 1_000);
    t.is((await things.find({ group: 'g' }, { sort: { n: 1 }, skip: 10_995, limit: 10 })).length, 5);
    t.is((await things.find({}, { skip: 20_000 })).length, 0);
    t.is(await things.count({ group: 'g', n: { $gte: 5_000 } }), 6_000);
    const wanted = Array.from({ length: 10_000 }, (_, n) => idOf(10_000 - n));
    t.deepEqual(ids(await things.getMany(wanted)), wanted);
  });

  sentence('getMany gives the documents in the order of the ids', async (t, { documents }) => {
    await fill(documents, 5, (n) => ({ n }));
    const things = await documents.collection<Thing>(THINGS);
    t.deepEqual(ids(await things.getMany([idOf(3), 'not there', idOf(0), "'"])), [idOf(3), idOf(0)]);
    t.deepEqual(await things.getMany([]), []);
    t.is(await things.get('not there'), null);
    t.deepEqual(await things.get(idOf(2)), { _id: idOf(2), n: 2 });
  });

  sentence('a stream gives every document once during writes', async (t, { documents, reopen }) => {
    await fill(documents, 4_500, (n) => ({ n, group: 'old' }));
    const things = await documents.collection<Thing>(THINGS);
    const writer = await (await reopen()).collection<Thing>(THINGS);
    const seen: unknown[] = [];
    for await (const { n } of things.stream({ group: 'old' }, { sort: { n: -1 } })) {
      seen.push(n);
      if (seen.length % 500 === 0) {
        await writer.write([
          { insert: { _id: `new ${seen.length}`, n: -seen.length, group: 'new' } },
          { update: idOf(seen.length), set: { $set: { touched: true } } },
        ]);
      }
    }
    t.deepEqual(
      seen,
      Array.from({ length: 4_500 }, (_, n) => 4_499 - n),
    );
    t.is(await things.count({ group: 'new' }), 9);
  });

  sentence('an aborted read throws the reason of its signal', async (t, { documents }) => {
    await fill(documents, 2_500, (n) => ({ n }));
    const things = await documents.collection<Thing>(THINGS);
    const reason = new Error('nobody waits');
    const left = new AbortController();
    t.is((await things.find({}, { signal: left.signal })).length, 1_000);
    t.is(await things.count({}, { signal: left.signal }), 2_500);
    const reading = Array.fromAsync(things.stream({}, { signal: left.signal }));
    left.abort(reason);
    for (const read of [
      reading,
      things.find({}, { signal: left.signal }),
      things.count({}, { signal: left.signal }),
      Array.fromAsync(things.stream({}, { signal: left.signal })),
    ]) {
      t.is(await t.throwsAsync(read), reason);
    }
    t.is(await things.count({}), 2_500);
  });

  sentence('a reader may leave a stream, and a stream without matches ends at once', async (t, { documents }) => {
    await fill(documents, 2_500, (n) => ({ n }));
    const things = await documents.collection<Thing>(THINGS);
    const seen: string[] = [];
    for await (const { _id } of things.stream({})) if (seen.push(_id) === 1_001) break;
    t.is(seen.at(-1), idOf(1_000));
    t.deepEqual(await Array.fromAsync(things.stream({ n: -1 })), []);
    t.is((await Array.fromAsync(things.stream({ n: { $lt: 2_000 } }))).length, 2_000);
  });

  sentence('a slice of long documents ends early, and consecutive slices give all of them', async (t, opened) => {
    const LENGTH = 600_000;
    const COUNT = 40;
    const { documents } = opened;
    const things = await documents.collection<Thing>(THINGS);
    for (let n = 0; n < COUNT; n += 10) {
      const made = Array.from({ length: 10 }, (_, i) => ({ _id: idOf(n + i), n: n + i, long: 'x'.repeat(LENGTH) }));
      await things.write(made.map((insert) => ({ insert })));
    }
    const order: Sort = { n: 1 };
    const found: Thing[] = [];
    for (let is_cut = true; is_cut; ) {
      const after = found.length > 0 ? keyset(found.at(-1)!, order) : undefined;
      const slice = await things.slice({ n: { $gte: 0 } }, { sort: order, after });
      ({ is_cut } = slice);
      t.true(slice.documents.length * LENGTH <= 17 * 1024 * 1024);
      t.true(slice.documents.length > 0);
      found.push(...slice.documents);
    }
    const expected = Array.from({ length: COUNT }, (_, n) => idOf(n));
    t.deepEqual(ids(found), expected);
    t.deepEqual(ids(await things.find({})), expected);
    t.deepEqual(ids(await Array.fromAsync(things.stream({}, { sort: { n: -1 } }))), expected.toReversed());
    const short = await things.slice({}, { sort: order, limit: 2, skip: 1 });
    t.deepEqual([ids(short.documents), short.is_cut], [[idOf(1), idOf(2)], false]);
    t.deepEqual(await things.slice({ n: -1 }), { documents: [], is_cut: false });
  });
}
