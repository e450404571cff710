// The way between the pages of the account.
import { to, useAddress } from '../app/address.ts';
import { SELLS } from '../app/selling.ts';

const TABS = [
  { path: '/account', label: 'Credits' },
  ...(SELLS
    ? [
        { path: '/account/buy', label: 'Buy credits' },
        { path: '/account/payments', label: 'Payments' },
      ]
    : []),
  { path: '/account/api-keys', label: 'API keys' },
  { path: '/account/webhooks', label: 'Webhooks' },
  { path: '/account/sessions', label: 'Browsers' },
];

/** A page below a tab's own is of that tab; all of them are below the first one's. */
const isAt = (tab: string, path: string) => path === tab || (tab !== '/account' && path.startsWith(`${tab}/`));

export function AccountTabs() {
  const { path } = useAddress();
  return (
    <nav class="filters" aria-label="Account">
      {TABS.map((tab) => (
        <a key={tab.path} href={to(tab.path)} aria-current={isAt(tab.path, path) ? 'page' : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
