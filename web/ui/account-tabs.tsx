// The way between the pages of the account.
import { to, useAddress } from '../app/address.ts';

const TABS = [
  { path: '/account', label: 'Credits' },
  { path: '/account/buy', label: 'Buy credits' },
  { path: '/account/api-keys', label: 'API keys' },
  { path: '/account/webhooks', label: 'Webhooks' },
] as const;

export function AccountTabs() {
  const { path } = useAddress();
  return (
    <nav class="filters" aria-label="Account">
      {TABS.map((tab) => (
        <a key={tab.path} href={to(tab.path)} aria-current={tab.path === path ? 'page' : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
