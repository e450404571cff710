// The order of a list, which is in the address. Headings of columns change it.
import { to, useAddress } from '../app/address.ts';
import type { Column } from './table.tsx';

export type SortBy<Name extends string> = (name: Name) => NonNullable<Column<unknown>['sort']>;

/** A heading's first click shows the largest first, the second one the smallest, the third one the list in its own order. */
export function useSort<Name extends string>(names: readonly Name[]) {
  const { path, query } = useAddress();
  const sort_by = names.find((name) => name === query.get('sort_by'));
  const sort_order = query.get('sort_order') === 'asc' ? ('asc' as const) : undefined;
  const by: SortBy<Name> = (name) => {
    const is_on = sort_by === name;
    const is_ascending = sort_order === 'asc';
    const next = is_on && is_ascending ? {} : { sort_by: name, sort_order: is_on ? 'asc' : undefined };
    const cleared = { sort_by: undefined, sort_order: undefined, offset: undefined };
    return { href: to(path, { ...Object.fromEntries(query), ...cleared, ...next }), is_on, is_ascending };
  };
  return { sort_by, sort_order, by };
}
