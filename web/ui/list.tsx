// A page of a list: its table and the way to its other pages, or what to show where there is nothing.
import type { ComponentChildren } from 'preact';
import type { Answer } from '../api/use-answer.ts';
import { Failure } from './failure.tsx';
import { Pager, type PagerProps } from './pager.tsx';
import { Table, type TableProps } from './table.tsx';

interface ListProps<Item> extends Omit<TableProps<Item>, 'items'> {
  of: Pick<Answer<PagerProps & { items: readonly Item[] }>, 'error' | 'value' | 'again'>;
  /** What to show for a list without items. */
  empty: ComponentChildren;
  /** What stands above the table. */
  children?: ComponentChildren;
}

export function List<Item>({ of, empty, children, ...table }: ListProps<Item>) {
  const page = of.value;
  return (
    <>
      <Failure of={of} />
      {page?.total === 0 && empty}
      {page && page.total > 0 && (
        <>
          {children}
          <Table {...table} items={page.items} />
          <Pager {...page} />
        </>
      )}
    </>
  );
}
