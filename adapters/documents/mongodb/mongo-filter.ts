// Translates a checked filter to MongoDB's query language.
import type { Document as Bson } from 'mongodb';
import type { Scalar } from '../../../readmodels/documents.ts';
import { formsOf } from '../letter-case.ts';
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
    case 'contains':
      return { $regex: literalPattern(test.text) };
    case 'regex':
      return { $regex: test.pattern };
    default:
      return { [`$${test.op}`]: test.value };
  }
}

/** Ignores case by itself: the option `i` also takes the Kelvin sign for a k. */
function literalPattern(text: string): string {
  const parts = Array.from(text, (char) => {
    const forms = formsOf(char);
    if (forms.length > 1) return `[${forms.join('')}]`;
    return /[\0-/:-\x7f]/.test(char) ? `\\${char}` : char;
  });
  return parts.join('');
}

/**
 * The filters of a page; `find` runs them one after the other until the page is full. A page after a document is an `$or` at
 * the root: MongoDB seeks each part in the index and merges them in order. It cannot merge a part with nulls, whose index
 * order mixes null and missing, and would sort all parts; so such a part is a filter of its own.
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

/** A bound matches only values of its own type, and the sort continues with the other types: each type is a part. */
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
