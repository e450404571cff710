// Lists by offset: the response that a route declares, and the reply that it sends.
import { type TSchema, Type } from '../../events/schema.ts';
import type { Page, Paging } from '../../readmodels/pages.ts';
import type { Reply, ResponseSpec } from './route.ts';

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
