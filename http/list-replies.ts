// Lists by offset: what a route declares of its list, and what it answers with.
import { type TSchema, Type } from '../events/schema.ts';
import type { Page, Paging } from '../readmodels/pages.ts';
import type { Reply, ResponseSpec } from './route.ts';

/** The answer of a route whose pages have `limit` items by default; `example`: one item. */
export const listOf = (description: string, item: TSchema, example: object, limit: number): ResponseSpec => ({
  description,
  schema: Type.Object({
    items: Type.Array(item),
    total: Type.Integer(),
    limit: Type.Integer(),
    offset: Type.Integer(),
  }),
  example: { items: [example], total: 1, limit, offset: 0 },
});

/** The page as clients see it, by the view of each item. */
export const listReply = <Item>(
  { items, total }: Page<Item>,
  view: (item: Item) => object,
  { limit, offset }: Paging,
): Reply => ({ body: { items: items.map((item) => view(item)), total, limit, offset } });
