// Schemas and reductions that the views of several routes share.

import { Nullable } from '../../events/nullable.ts';
import { Type } from '../../events/schema.ts';

export const Count = (description: string) => Type.Integer({ minimum: 0, description });
/** An object with a count for each name. */
export const CountsOf = (names: readonly string[], description: string) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.Integer({ minimum: 0 })])), { description });
export const Time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });
export const NullableTime = Nullable(Time());

/** The named fields of an object, in this order. */
export function pick<From extends object, Name extends keyof From>(
  from: From,
  names: readonly Name[],
): Pick<From, Name> {
  const picked = {} as Pick<From, Name>;
  for (const name of names) picked[name] = from[name];
  return picked;
}
