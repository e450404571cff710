// The filters of results, as the service has them. They are in the address.
import { type Given, useAnswer } from '../../api/ask.ts';
import { setQuery, useAddress } from '../../app/address.ts';
import { ANY, Check, SelectField, TextField } from '../../ui/form.tsx';
import { namesOf } from '../../ui/names.ts';
import { grouped } from '../../ui/values.tsx';
import { VERDICTS } from '../../ui/verdicts.ts';

type Asked = Given<'GET /jobs/{job_id}/results'>;
type Group = NonNullable<Asked['status_group']>;
type Verdict = NonNullable<Asked['verdict']>;
const GROUPS = namesOf<Group>({ '2xx': 1, '3xx': 1, '4xx': 1, '5xx': 1, broken: 1, unreachable: 1 });
/** `broken` is a verdict too, and narrower than this group. */
const GROUP_LABELS: Readonly<Partial<Record<Group, string>>> = { broken: '4xx, 5xx or unreachable' };

export interface Filter {
  verdict?: Verdict;
  status_group?: Group;
  status_codes?: string;
  non_2xx?: boolean;
  url_contains?: string;
}

/** The filter that the address names. What is no filter of the service counts as none. */
export function filterIn(query: URLSearchParams): Filter {
  const codes = query.get('status_codes')?.match(/\b[1-9]\d\d\b/g);
  return {
    verdict: VERDICTS.find(({ name }) => name === query.get('verdict'))?.name,
    status_group: GROUPS.find((name) => name === query.get('status_group')),
    status_codes: codes?.join(',') || undefined,
    non_2xx: query.get('non_2xx') === 'true' || undefined,
    url_contains: query.get('url_contains')?.slice(0, 500) || undefined,
  };
}

export const NO_FILTER = {
  verdict: undefined,
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
  const options = useAnswer('GET /jobs/{job_id}/filter-options', { job_id }, version);
  const codes = options.value?.status_codes.filter(({ status_code }) => status_code !== null) ?? [];
  const groups = new Map(options.value?.status_groups.map(({ status_group, count }) => [status_group, count]));
  return (
    <search class="fields">
      <TextField
        label="URL contains"
        type="search"
        maxLength={500}
        value={filter.url_contains ?? ''}
        onInput={(text) => change({ url_contains: text })}
      />
      <SelectField
        label="Verdict"
        value={filter.verdict ?? ''}
        options={[ANY, ...VERDICTS.map(({ name, label }) => ({ value: name, label }))]}
        onChange={(verdict) => change({ verdict })}
      />
      <SelectField
        label="Status"
        value={filter.status_group ?? ''}
        options={[
          ANY,
          ...GROUPS.map((name) => ({
            value: name,
            label: `${GROUP_LABELS[name] ?? name} ${countOf(groups.get(name) ?? 0)}`,
          })),
        ]}
        onChange={(status_group) => change({ status_group })}
      />
      <SelectField
        label="Code"
        value={filter.status_codes ?? ''}
        options={[
          ANY,
          ...(filter.status_codes?.includes(',') ? [{ value: filter.status_codes, label: filter.status_codes }] : []),
          ...codes.map(({ status_code, count }) => ({
            value: status_code!,
            label: `${status_code} ${countOf(count)}`,
          })),
        ]}
        onChange={(status_codes) => change({ status_codes })}
      />
      <Check
        label="without 2xx only"
        is_on={filter.non_2xx ?? false}
        set={(is_on) => change({ non_2xx: is_on ? 'true' : undefined })}
      />
    </search>
  );
}

const countOf = (count: number) => `(${grouped(count)})`;
