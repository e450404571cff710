// A search in a list. Its words are in the address; each letter replaces them, so that Back leaves the list.
import { setQuery, useAddress } from '../app/address.ts';
import { TextField } from './field.tsx';

interface SearchFieldProps {
  label?: string;
  placeholder: string;
  max_chars?: number;
}

const MAX_CHARS = 200;

/** What is searched for on the page at this address; undefined for nothing. */
export const searchIn = (query: URLSearchParams, max_chars = MAX_CHARS): string | undefined =>
  query.get('search')?.slice(0, max_chars) || undefined;

export function SearchField({ label = 'Search', placeholder, max_chars = MAX_CHARS }: SearchFieldProps) {
  const { query } = useAddress();
  return (
    <TextField
      label={label}
      type="search"
      size={30}
      maxLength={max_chars}
      placeholder={placeholder}
      value={searchIn(query, max_chars) ?? ''}
      onInput={(text) => setQuery({ search: text, offset: undefined }, { replace: true })}
    />
  );
}
