// The filters of the worker log: those of the API, each in the address.
import { type Given, useAnswer } from '../../../api/ask.ts';
import { setQuery, useAddress } from '../../../app/address.ts';
import { ANY, Check, SelectField, TextField } from '../../../ui/form.tsx';
import { grouped } from '../../../ui/values.tsx';

type Filter = Pick<Given<'GET /logs'>, 'domain' | 'status_code' | 'non_2xx' | 'has_error' | 'job_id'>;

const ERRORS = [ANY, { value: 'true', label: 'with an error' }, { value: 'false', label: 'without an error' }];

export function filterIn(query: URLSearchParams): Filter {
  const status_code = Number(query.get('status_code'));
  const has_error = query.get('has_error');
  return {
    domain: query.get('domain')?.slice(0, 253) || undefined,
    job_id: query.get('job_id')?.slice(0, 64) || undefined,
    status_code: Number.isInteger(status_code) && status_code >= 100 && status_code <= 999 ? status_code : undefined,
    non_2xx: query.get('non_2xx') === 'true' || undefined,
    has_error: has_error === 'true' || has_error === 'false' ? has_error === 'true' : undefined,
  };
}

export const NO_FILTER = {
  ...{ domain: undefined, job_id: undefined, status_code: undefined, non_2xx: undefined },
  ...{ has_error: undefined, offset: undefined },
};

const change = (changed: { readonly [name in keyof Filter]: string }) =>
  setQuery({ ...changed, offset: undefined }, { replace: true });

export function Filters() {
  const { query } = useAddress();
  const filter = filterIn(query);
  const options = useAnswer('GET /logs/filter-options', {});
  const domains = options.value?.domains ?? [];
  const status_codes = (options.value?.status_codes ?? []).filter(({ status_code }) => status_code !== null);
  const is_unlisted = filter.status_code && !status_codes.some(({ status_code }) => status_code === filter.status_code);
  return (
    <search class="fields">
      <TextField
        label="Domain"
        type="search"
        list="logged-domains"
        maxLength={253}
        value={filter.domain ?? ''}
        onChange={(text) => change({ domain: text.trim() })}
      />
      <datalist id="logged-domains">
        {domains.map(({ domain }) => (
          <option key={domain} value={domain} />
        ))}
      </datalist>
      <SelectField
        label="Status"
        value={filter.status_code ?? ''}
        options={[
          ANY,
          ...(is_unlisted ? [{ value: filter.status_code!, label: String(filter.status_code) }] : []),
          ...status_codes.map(({ status_code, entries }) => ({
            ...{ value: status_code!, label: `${status_code} (${grouped(entries)})` },
          })),
        ]}
        onChange={(status_code) => change({ status_code })}
      />
      <SelectField
        label="Errors"
        value={String(filter.has_error ?? '')}
        options={ERRORS}
        onChange={(has_error) => change({ has_error })}
      />
      <TextField
        label="Job"
        type="search"
        size={36}
        maxLength={64}
        placeholder="The id of a job"
        value={filter.job_id ?? ''}
        onChange={(text) => change({ job_id: text.trim() })}
      />
      <Check
        label="without a 2xx"
        is_on={filter.non_2xx === true}
        set={(on) => change({ non_2xx: on ? 'true' : '' })}
      />
    </search>
  );
}
