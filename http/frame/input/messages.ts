// Says what is wrong with a value in words, for people: the validator's own messages show patterns and the names of formats.
import type { ErrorObject } from 'ajv/dist/2020.js';
import { wordsOf } from '../../../events/schema.ts';

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'a time such as 2026-01-31T09:00:00Z',
  date: 'a day such as 2026-01-31',
  uri: 'a whole URL, such as https://example.com/',
};

const counted = (count: number, one: string) => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`;
const BOUNDS: Readonly<Record<string, (limit: number) => string>> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  exclusiveMinimum: (limit) => `must be more than ${limit}`,
  exclusiveMaximum: (limit) => `must be less than ${limit}`,
  minLength: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, 'character')}`),
  maxLength: (limit) => `must have at most ${counted(limit, 'character')}`,
  minItems: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, 'item')}`),
  maxItems: (limit) => `must have at most ${counted(limit, 'item')}`,
  minProperties: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, 'field')}`),
  maxProperties: (limit) => `must have at most ${counted(limit, 'field')}`,
};

/** @example boundMessage('maxLength', 1) // 'must have at most 1 character' */
export const boundMessage = (keyword: string, limit: number): string =>
  BOUNDS[keyword]?.(limit) ?? `must keep to ${keyword} ${limit}`;

/** A pattern without words of its own shows an example. */
export function messageOf({ keyword, params, parentSchema, message }: ErrorObject): string {
  if (typeof params.limit === 'number' && BOUNDS[keyword]) return boundMessage(keyword, params.limit);
  if (keyword === 'format') return `must be ${FORMATS[params.format as string] ?? 'written in its usual form'}`;
  if (keyword === 'uniqueItems') return 'must not hold the same item twice';
  if (keyword !== 'pattern') return message ?? 'is not valid';
  const words = wordsOf(params.pattern as string);
  const { examples } = (parentSchema ?? {}) as { examples?: unknown[] };
  if (words !== undefined) return words;
  return examples?.[0] === undefined
    ? 'has characters that are not allowed here'
    : `must be written like ${examples[0]}`;
}
