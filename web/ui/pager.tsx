// The way to the other pages of a list. The offset is in the address.
import { to, useAddress } from '../app/address.ts';
import { grouped } from './numbers.ts';

/** Where the page of the list begins that this address names; what is no place in a list is its beginning. */
export function offsetIn(query: URLSearchParams): number {
  const offset = Number(query.get('offset'));
  return Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
}

export interface PagerProps {
  total: number;
  limit: number;
  offset: number;
}

export function Pager({ total, limit, offset }: PagerProps) {
  const { path, query } = useAddress();
  if (total <= limit && offset === 0) return null;
  const at = (start: number) =>
    to(path, { ...Object.fromEntries(query), offset: start > 0 ? String(start) : undefined });
  const last = Math.min(total, offset + limit);
  return (
    <nav class="pager" aria-label="Pages">
      <span>
        {grouped(Math.min(offset + 1, last))}–{grouped(last)} of {grouped(total)}
      </span>
      {offset > 0 && <a href={at(Math.max(0, offset - limit))}>Previous</a>}
      {last < total && <a href={at(offset + limit)}>Next</a>}
    </nav>
  );
}
