// Schemas and reductions that the views of several routes share.
import { Nullable, type TSchema, Type } from '../../events/schema.ts';
import type { Page, Paging } from '../../readmodels/pages.ts';
import type { Reply, ResponseSpec } from './route.ts';

export const Count = (description: string) => Type.Integer({ minimum: 0, description });
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

// Lists by offset: the response that a route declares, and the reply that it sends.

/**
 * The response of a route whose pages have `limit` items by default. `example` is one item.
 * @example responses: { 200: listOf('A page of jobs.', JobView, jobExample, 20) }
 */
export const listOf = (description: string, item: TSchema, example: object, limit: number): ResponseSpec => ({
  description,
  schema: Type.Object(
    {
      items: Type.Array(item),
      total: Type.Integer(),
      limit: Type.Integer(),
      offset: Type.Integer(),
    },
    '$id' in item ? { $id: `${item.$id}List` } : {},
  ),
  example: { items: [example], total: 1, limit, offset: 0 },
});

/** The reply with a page; `view` maps each document to its JSON. */
export const listReply = <Item>(
  { items, total }: Page<Item>,
  view: (item: Item) => object,
  { limit, offset }: Paging,
): Reply => ({ body: { items: items.map((item) => view(item)), total, limit, offset } });
