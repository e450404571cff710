// The days that a page of figures is of. They are in the address.
import { to, useAddress } from '../../app/address.ts';

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
  const chosen = usePeriod();
  return (
    <nav class="filters" aria-label="Days shown">
      {NAMES.map((name) => (
        <a
          key={name}
          href={to(path, { ...Object.fromEntries(query), period: name, offset: undefined })}
          aria-current={name === chosen ? 'true' : undefined}
        >
          {PERIODS[name]}
        </a>
      ))}
    </nav>
  );
}
