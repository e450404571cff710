// The filters of results, as the service has them. They are in the address.
import type { Given } from '../../api/ask.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { setQuery, useAddress } from '../../app/address.ts';
import { Field } from '../../ui/field.tsx';
import { namesOf } from '../../ui/names.ts';
import { grouped } from '../../ui/numbers.ts';

type Group = NonNullable<Given<'GET /jobs/{job_id}/results'>['status_group']>;
const GROUPS = namesOf<Group>({ '2xx': 1, '3xx': 1, '4xx': 1, '5xx': 1, broken: 1, unreachable: 1 });

export interface Filter {
  status_group?: Group;
  status_codes?: string;
  non_2xx?: boolean;
  url_contains?: string;
}

/** The filter that the address names. What is no filter of the service counts as none. */
export function filterIn(query: URLSearchParams): Filter {
  const codes = query.get('status_codes')?.match(/\b[1-9]\d\d\b/g);
  return {
    status_group: GROUPS.find((name) => name === query.get('status_group')),
    status_codes: codes?.join(',') || undefined,
    non_2xx: query.get('non_2xx') === 'true' || undefined,
    url_contains: query.get('url_contains')?.slice(0, 500) || undefined,
  };
}

export const NO_FILTER = {
  status_group: undefined,
  status_codes: undefined,
  non_2xx: undefined,
  url_contains: undefined,
};

/** The filters replace the address while the reader types, so that Back leaves the page. */
const change = (changed: Readonly<Record<string, string | undefined>>) => setQuery(changed, { replace: true });

export function Filters({ job_id, version }: { job_id: string; version: string }) {
  const { query } = useAddress();
  const filter = filterIn(query);
  const options = useAnswer('GET /jobs/{job_id}/filter-options', { job_id }, { version });
  const codes = options.value?.status_codes.filter(({ status_code }) => status_code !== null) ?? [];
  return (
    <search class="fields">
      <Field label="URL contains">
        {(control) => (
          <input
            {...control}
            type="search"
            maxLength={500}
            value={filter.url_contains ?? ''}
            onInput={(event) => change({ url_contains: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Status">
        {(control) => (
          <select
            {...control}
            value={filter.status_group ?? ''}
            onChange={(event) => change({ status_group: event.currentTarget.value })}
          >
            <option value="">any</option>
            {GROUPS.map((name) => (
              <option key={name} value={name}>
                {name}{' '}
                {countOf(options.value?.status_groups.find(({ status_group }) => status_group === name)?.count ?? 0)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Code">
        {(control) => (
          <select
            {...control}
            value={filter.status_codes ?? ''}
            onChange={(event) => change({ status_codes: event.currentTarget.value })}
          >
            <option value="">any</option>
            {filter.status_codes?.includes(',') && <option value={filter.status_codes}>{filter.status_codes}</option>}
            {codes.map(({ status_code, count }) => (
              <option key={status_code} value={String(status_code)}>
                {status_code} {countOf(count)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          checked={filter.non_2xx ?? false}
          onChange={(event) => change({ non_2xx: event.currentTarget.checked ? 'true' : undefined })}
        />
        without 2xx only
      </label>
    </search>
  );
}

const countOf = (count: number) => `(${grouped(count)})`;
