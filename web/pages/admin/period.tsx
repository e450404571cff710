// The days that a page of figures is of. They are in the address.
import { to, useAddress } from '../../app/address.ts';
import { Filters } from '../../ui/filters.tsx';

const PERIODS = {
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  '12m': '12 months',
  all: 'all time',
} as const;
type Period = keyof typeof PERIODS;

const NAMES = Object.keys(PERIODS) as readonly Period[];

export function usePeriod(): Period {
  const { query } = useAddress();
  return NAMES.find((name) => name === query.get('period')) ?? '30d';
}

export function Periods() {
  const { path, query } = useAddress();
  return (
    <Filters
      label="Days shown"
      choices={NAMES}
      chosen={usePeriod()}
      hrefOf={(name) => to(path, { ...Object.fromEntries(query), period: name, offset: undefined })}
      textOf={(name) => PERIODS[name]}
    />
  );
}
