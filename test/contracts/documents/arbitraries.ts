// Random documents, filters and sorts: few values, so that they meet often, and every kind of them.
import fc from 'fast-check';
import type { Filter, Scalar, Sort } from '../../../readmodels/documents.ts';
import type { Thing } from './fixture.ts';

const TEXTS = [
  '',
  'a',
  'A',
  'b',
  'ab',
  '10',
  'x%y',
  'x_y',
  'x\\y',
  'é',
  'É',
  'K',
  '\u212a',
  '\uffee',
  '😀',
  '[a-z]*',
  '\'"',
  'a\nb',
];
const NUMBERS = [-1.5, -1, 0, 1, 2, 10, 1e15, 2 ** 53 - 1, 0.1];

const text = fc.constantFrom(...TEXTS);
const number = fc.constantFrom(...NUMBERS);
const scalar: fc.Arbitrary<Scalar> = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const maybe = fc.option(scalar, { nil: undefined });

export const thing: fc.Arbitrary<Omit<Thing, '_id'>> = fc
  .record({
    text: maybe,
    n: maybe,
    flag: maybe,
    group: maybe,
    deep: fc.oneof(maybe, fc.record({ x: maybe })),
  })
  // MongoDB has no undefined: a field is there or not.
  .map((made) => JSON.parse(JSON.stringify(made)));

const PATHS = ['text', 'n', 'flag', 'group', 'deep.x', '_id'];
const path = fc.constantFrom(...PATHS.slice(0, -1));
const bound = fc.oneof(text, number);
const list = fc.array(scalar, { maxLength: 4 });
const pattern = fc.constantFrom('a', '^a', 'b$', '^$', '[a-c]+', '\\d', 'x.y', 'a|b', '(?:a)b?', '^.$', 'é', '\\\\');

const condition = fc.oneof(
  scalar,
  fc.record({ $ne: scalar }),
  fc.record({ $in: list }),
  fc.record({ $nin: list }),
  fc.record({ $gt: bound, $lte: bound }, { requiredKeys: ['$gt'] }),
  fc.record({ $gte: bound, $lt: bound }, { requiredKeys: ['$lt'] }),
  fc.record({ $contains: text }),
  fc.record({ $regex: pattern }),
);

export const filter: fc.Arbitrary<Filter> = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.dictionary(path, condition, { maxKeys: 2 }),
    fc.record({ $or: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ $and: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc
      .tuple(fc.dictionary(path, condition, { maxKeys: 1 }), tie('filter'))
      .map(([fields, or]) => ({ ...fields, $or: [or] })),
  ),
})).filter;

export const sort: fc.Arbitrary<Sort> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...PATHS), fc.constantFrom<1 | -1>(1, -1)), {
    selector: ([name]) => name,
    maxLength: 3,
  })
  .map((keys) => Object.fromEntries(keys));
