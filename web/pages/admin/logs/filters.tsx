// The filters of the worker log: those of the API, each in the address.
import type { Given } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { setQuery, useAddress } from '../../../app/address.ts';
import { Check } from '../../../ui/check.tsx';
import { Field } from '../../../ui/field.tsx';
import { grouped } from '../../../ui/numbers.ts';

type Filter = Pick<Given<'GET /logs'>, 'domain' | 'status_code' | 'non_2xx' | 'has_error' | 'job_id'>;

const ERRORS = { true: 'with an error', false: 'without an error' } as const;

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
  return (
    <search class="fields">
      <Field label="Domain">
        {(control) => (
          <>
            <input
              {...control}
              type="search"
              list="logged-domains"
              maxLength={253}
              value={filter.domain ?? ''}
              onChange={(event) => change({ domain: event.currentTarget.value.trim() })}
            />
            <datalist id="logged-domains">
              {domains.map(({ domain }) => (
                <option key={domain} value={domain} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field label="Status">
        {(control) => (
          <select
            {...control}
            value={String(filter.status_code ?? '')}
            onChange={(event) => change({ status_code: event.currentTarget.value })}
          >
            <option value="">any</option>
            {filter.status_code && !status_codes.some(({ status_code }) => status_code === filter.status_code) && (
              <option value={String(filter.status_code)}>{filter.status_code}</option>
            )}
            {status_codes.map(({ status_code, entries }) => (
              <option key={status_code} value={String(status_code)}>
                {status_code} ({grouped(entries)})
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Errors">
        {(control) => (
          <select
            {...control}
            value={String(filter.has_error ?? '')}
            onChange={(event) => change({ has_error: event.currentTarget.value })}
          >
            <option value="">any</option>
            {Object.entries(ERRORS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Job">
        {(control) => (
          <input
            {...control}
            type="search"
            size={36}
            maxLength={64}
            placeholder="The id of a job"
            value={filter.job_id ?? ''}
            onChange={(event) => change({ job_id: event.currentTarget.value.trim() })}
          />
        )}
      </Field>
      <Check
        label="without a 2xx"
        is_on={filter.non_2xx === true}
        set={(on) => change({ non_2xx: on ? 'true' : '' })}
      />
    </search>
  );
}
