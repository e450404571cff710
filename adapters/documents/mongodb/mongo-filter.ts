// Translates a checked filter to MongoDB's own language.
import type { Document as Bson } from 'mongodb';
import type { Scalar } from '../../../readmodels/documents.ts';
import { type Segment, segmentsAfter } from '../pages.ts';
import type { Comparison, Expression, Query } from '../query.ts';

export function mongoFilter(where: Expression): Bson {
  if ('all' in where) return where.all.length === 0 ? {} : { $and: where.all.map(mongoFilter) };
  if ('any' in where) return { $or: where.any.map(mongoFilter) };
  return { [where.path]: operator(where.test) };
}

function operator(test: Comparison): Bson {
  switch (test.op) {
    case 'in':
    case 'nin':
      return { [`$${test.op}`]: test.values };
    case 'exists':
      return { $exists: test.there };
    case 'contains':
      return { $regex: literalPattern(test.text) };
    case 'regex':
      return { $regex: test.pattern, $options: test.ignore_case ? 'i' : '' };
    default:
      return { [`$${test.op}`]: test.value };
  }
}

/** Without the option `i`, which is not only ASCII's: in it the Kelvin sign is a k. */
function literalPattern(text: string): string {
  return text.replaceAll(/[\0-\x7f]/g, (char) => {
    if (/[a-z]/i.test(char)) return `[${char.toLowerCase()}${char.toUpperCase()}]`;
    return /\d/.test(char) ? char : `\\${char}`;
  });
}

/**
 * The filters of a page, to be asked one after the other until it is full. A page after a document is a disjunction at
 * the root, each part of which MongoDB seeks in the index and merges in order. It cannot where a part is of nulls, for an
 * index does not tell null from missing in order: such a part is asked alone, and all others would be sorted with it.
 */
export function pageFilters({ where, keys, after }: Query): Bson[] {
  const filter = mongoFilter(where);
  if (!after) return [filter];
  const runs: { parts: Bson[]; nulls: boolean }[] = [];
  for (const part of segmentsAfter(keys, after).flatMap(segmentParts)) {
    const run = runs.at(-1);
    if (run && !run.nulls && !part.nulls) run.parts.push({ $and: [filter, ...part.conditions] });
    else runs.push({ parts: [{ $and: [filter, ...part.conditions] }], nulls: part.nulls });
  }
  return runs.map(({ parts }) => ({ $or: parts }));
}

function segmentParts({ equal, beyond }: Segment): { conditions: Bson[]; nulls: boolean }[] {
  const same = equal.map(({ path, value }) => ({ [path]: { $eq: value } }));
  return beyondConditions(beyond).map((next) => ({
    conditions: [...same, { [beyond.path]: next }],
    nulls: next === WHOLE_TYPE.null || equal.some(({ value }) => value === null),
  }));
}

const TYPES = ['null', 'number', 'string', 'boolean'] as const;

/** A bound matches only values of its own type, and a sort goes on with the other types: each is a part of its own. */
function beyondConditions({ path, direction, value }: Segment['beyond']): Bson[] {
  const place = TYPES.findIndex((type) => type === (value === null ? 'null' : typeof value));
  const others = direction === 1 ? TYPES.slice(place + 1) : TYPES.slice(0, place).toReversed();
  const same = value === null ? [] : [{ [direction === 1 ? '$gt' : '$lt']: value as Exclude<Scalar, null> }];
  if (path === '_id') return same;
  return [...same, ...others.map((type) => WHOLE_TYPE[type])];
}

const WHOLE_TYPE: Record<(typeof TYPES)[number], Bson> = {
  null: { $eq: null },
  number: { $gte: Number.NEGATIVE_INFINITY },
  string: { $gte: '' },
  boolean: { $gte: false },
};
