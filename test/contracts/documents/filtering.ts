// Which documents a filter matches.
import fc from 'fast-check';
import type { CollectionSpec, Filter } from '../../../readmodels/documents.ts';
import { filter, thing } from './arbitraries.ts';
import { idOf, ids, type Sentence, THINGS, type Thing } from './fixture.ts';
import { matching } from './oracle.ts';

export function filtering(sentence: Sentence): void {
  sentence('any filter matches the same documents as in MongoDB', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const made = fc.sample(thing, 300).map((fields, n): Thing => ({ _id: idOf(n), ...fields }));
    await things.write(made.map((insert) => ({ insert })));
    await fc.assert(
      fc.asyncProperty(filter, async (where) => {
        const expected = ids(matching(made, where));
        t.deepEqual(ids(await things.find(where)), expected);
        t.is(await things.count(where), expected.length);
      }),
      { numRuns: 300 },
    );
  });

  sentence('null matches null and missing', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([
      { insert: { _id: 'missing' } },
      { insert: { _id: 'null', n: null } },
      { insert: { _id: 'zero', n: 0 } },
      { insert: { _id: 'text', n: '0' } },
      { insert: { _id: 'false', n: false } },
    ]);
    const cases: [Filter, string[]][] = [
      [{ n: null }, ['missing', 'null']],
      [{ n: { $ne: null } }, ['false', 'text', 'zero']],
      [{ n: { $in: [null, 0] } }, ['missing', 'null', 'zero']],
      [{ n: { $nin: [null, 0] } }, ['false', 'text']],
      [{ n: { $in: [] } }, []],
      [{ n: { $nin: [] } }, ['false', 'missing', 'null', 'text', 'zero']],
      [{ n: { $ne: 0 } }, ['false', 'missing', 'null', 'text']],
      [{ n: false }, ['false']],
      [{ n: { $gte: 0 } }, ['zero']],
      [{ n: { $gte: '' } }, ['text']],
      [{ n: { $lt: 1 } }, ['zero']],
      [{ _id: { $gt: 'n' }, n: { $ne: null } }, ['text', 'zero']],
      [{}, ['false', 'missing', 'null', 'text', 'zero']],
    ];
    for (const [where, expected] of cases) t.deepEqual(ids(await things.find(where)), expected, JSON.stringify(where));
  });

  sentence('the store takes filters up to the limits of length and depth', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    await things.write([{ insert: { _id: 'a', n: 100, text: 'x' } }, { insert: { _id: 'b', n: 9_999 } }]);
    t.deepEqual(ids(await things.find({ $or: Array.from({ length: 249 }, (_, n) => ({ n })) })), ['a']);
    t.deepEqual(ids(await things.find({ n: { $in: Array.from({ length: 10_000 }, (_, n) => n) } })), ['a', 'b']);
    let deep: Filter = { text: { $contains: 'X' } };
    for (let level = 0; level < 8; level += 1) deep = { $or: [{ n: -1 }, { $and: [deep] }] };
    await t.throwsAsync(things.find(deep), { code: 'unsupported_query' });
    deep = { text: { $contains: 'X' } };
    for (let level = 0; level < 8; level += 1) deep = { $or: [{ n: -1 }, deep] };
    t.deepEqual(ids(await things.find(deep)), ['a']);
    t.deepEqual(ids(await things.find({ text: { $nin: Array.from({ length: 10_000 }, (_, n) => `${n}`) } })), [
      'a',
      'b',
    ]);
  });

  sentence('$contains matches its text literally, and ignores the case of letters', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const texts = [
      '100%',
      '100 percent',
      'a_b',
      'axb',
      'c:\\d',
      'c:/d',
      'a.b*c',
      '(x)[y]{z}',
      '^start$',
      'É',
      'é',
      'Kk',
      '\u212a',
      'Straße*?[x]',
      'МОСКВА',
      'Kİ',
      '𐐀𐐨',
    ];
    await things.write(texts.map((text, n) => ({ insert: { _id: idOf(n), text } })));
    await things.write([{ insert: { _id: 'number', text: 100 } }]);
    const found = async (part: string) => (await things.find({ text: { $contains: part } })).map(({ text }) => text);
    t.deepEqual(await found('0%'), ['100%']);
    t.deepEqual(await found('A_B'), ['a_b']);
    t.deepEqual(await found(':\\'), ['c:\\d']);
    t.deepEqual(await found('.B*'), ['a.b*c']);
    t.deepEqual(await found(')[Y]{'), ['(x)[y]{z}']);
    t.deepEqual(await found('^START$'), ['^start$']);
    t.deepEqual(await found('É'), ['É', 'é']);
    t.deepEqual(await found('e'), ['100 percent', 'Straße*?[x]']);
    t.deepEqual(await found('k'), ['Kk', 'Kİ']);
    t.deepEqual(await found('\u212a'), ['\u212a']);
    t.deepEqual(await found('AßE*?[X]'), ['Straße*?[x]']);
    t.deepEqual(await found('ASSE'), []);
    t.deepEqual(await found('москва'), ['МОСКВА']);
    t.deepEqual(await found('kİ'), ['Kİ']);
    t.deepEqual(await found('ki'), []);
    t.deepEqual(await found('𐐨𐐨'), ['𐐀𐐨']);
    t.deepEqual(await found('100'), ['100%', '100 percent']);
    t.is((await found('')).length, texts.length);
  });

  sentence('$regex matches a regular expression', async (t, { documents }) => {
    const things = await documents.collection<Thing>(THINGS);
    const texts = ['https://a.example/x', 'HTTPS://B.example/y', 'ftp://a.example', 'a😀b', 'line\nbreak'];
    await things.write(texts.map((text, n) => ({ insert: { _id: idOf(n), text, n: text.length } })));
    const found = async (where: Filter) => (await things.find(where)).map(({ text }) => text);
    t.deepEqual(await found({ text: { $regex: '^https?://' } }), [texts[0]]);
    t.deepEqual(await found({ text: { $regex: '/(x|y)$' } }), [texts[0], texts[1]]);
    t.deepEqual(await found({ text: { $regex: '^a.b$' } }), ['a😀b']);
    t.deepEqual(await found({ text: { $regex: 'e.b' } }), []);
    t.deepEqual(await found({ n: { $regex: '1' } }), []);
    t.deepEqual(await found({ text: { $regex: 'example', $contains: 'FTP' } }), [texts[2]]);
  });

  sentence('filters and sorts take fields of any name and depth', async (t, { documents }) => {
    const names = [
      'Name',
      'name',
      "it's",
      'say "hi"',
      'a b',
      'x); DROP TABLE odd; --',
      'ünï',
      'back\\slash',
      'a,b',
      '-a',
      '[0]',
      '7',
    ];
    const paths = names.flatMap((name) => [name, `deep.er.${name}`]);
    const spec: CollectionSpec<Thing> = {
      name: 'odd',
      fields: Object.fromEntries(paths.map((path) => [path, 'string' as const])),
      indexes: names.map((name) => ({ fields: { [name]: 1 as const } })),
    };
    const odd = await documents.collection<Thing>(spec);
    const made = names.map(
      (name): Thing => ({ _id: name, [name]: `at ${name}`, deep: { er: { [name]: `under ${name}` } } }),
    );
    await odd.write(made.map((insert) => ({ insert })));
    for (const [n, name] of names.entries()) {
      t.deepEqual(await odd.find({ [name]: `at ${name}` }), [made[n]!]);
      t.deepEqual(await odd.find({ [`deep.er.${name}`]: `under ${name}` }), [made[n]!]);
      t.is(ids(await odd.find({}, { sort: { [name]: -1 } }))[0], name);
    }
    t.deepEqual(await documents.names(), ['odd']);
  });
}
