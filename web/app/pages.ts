// The pages of the console: a line for each folder of `pages/`. A page is loaded when its address is first shown.
import type { ComponentType } from 'preact';
import type { PageProps } from './address.ts';

interface PageRow {
  /** Below the console, with parameters in braces. The first row that matches is shown. */
  path: string;
  title: string;
  /** Who may see it. The service decides what an answer shows; this spares others a page of refusals. */
  access: 'none' | 'user' | 'admin';
  load(): Promise<{ Page: ComponentType<PageProps> }>;
}

const rowsFor =
  (access: PageRow['access']) =>
  (path: string, title: string, load: PageRow['load']): PageRow => ({ path, title, access, load });
const [anybody, user, admin] = [rowsFor('none'), rowsFor('user'), rowsFor('admin')];

export const PAGES: readonly PageRow[] = [
  anybody('/sign-in', 'Sign in', () => import('../pages/sign-in/page.tsx')),
  user('/jobs', 'Jobs', () => import('../pages/jobs/page.tsx')),
  user('/jobs/new', 'New job', () => import('../pages/new-job/page.tsx')),
  user('/jobs/{job_id}', 'Job', () => import('../pages/job/page.tsx')),
  user('/jobs/{job_id}/changes', 'Changes', () => import('../pages/job-changes/page.tsx')),
  user('/account', 'Account', () => import('../pages/account/page.tsx')),
  user('/account/buy', 'Buy credits', () => import('../pages/buy/page.tsx')),
  user('/account/payments', 'Payments', () => import('../pages/payments/page.tsx')),
  user('/account/api-keys', 'API keys', () => import('../pages/api-keys/page.tsx')),
  user('/account/webhooks', 'Webhooks', () => import('../pages/webhooks/page.tsx')),
  user('/account/sessions', 'Browsers', () => import('../pages/sessions/page.tsx')),
  user('/account/webhooks/{endpoint_id}', 'Webhook endpoint', () => import('../pages/webhook/page.tsx')),
  admin('/admin', 'Users', () => import('../pages/admin/users/page.tsx')),
  admin('/admin/users/{user_id}', 'User', () => import('../pages/admin/user/page.tsx')),
  admin('/admin/growth', 'Growth', () => import('../pages/admin/growth/page.tsx')),
  admin('/admin/revenue', 'Revenue', () => import('../pages/admin/revenue/page.tsx')),
  admin('/admin/retention', 'Retention', () => import('../pages/admin/retention/page.tsx')),
  admin('/admin/paywall', 'Paywall', () => import('../pages/admin/paywall/page.tsx')),
  admin('/admin/domains', 'Domains', () => import('../pages/admin/domains/page.tsx')),
  admin('/admin/domains/{domain}', 'Domain', () => import('../pages/admin/domain/page.tsx')),
  admin('/admin/blocklist', 'Blocklist', () => import('../pages/admin/blocklist/page.tsx')),
  admin('/admin/jobs', 'Jobs of all users', () => import('../pages/admin/jobs/page.tsx')),
  admin('/admin/jobs/{job_id}', 'Job of a user', () => import('../pages/admin/job/page.tsx')),
  admin('/admin/audit-trail', 'Audit trail', () => import('../pages/admin/audit-trail/page.tsx')),
  admin('/admin/payments', 'Payments', () => import('../pages/admin/payments/page.tsx')),
  admin('/admin/mails', 'Mails', () => import('../pages/admin/mails/page.tsx')),
  admin('/admin/logs', 'Worker log', () => import('../pages/admin/logs/page.tsx')),
  admin('/admin/proxies', 'Proxies', () => import('../pages/admin/proxies/page.tsx')),
  admin('/admin/proxies/{proxy_id}', 'Proxy', () => import('../pages/admin/proxy/page.tsx')),
  admin('/admin/services', 'Services', () => import('../pages/admin/services/page.tsx')),
  admin('/admin/maintenance', 'Maintenance', () => import('../pages/admin/maintenance/page.tsx')),
];

/** Text as the address has it; as it is where it is not whole. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function pageAt(path: string): { page: PageRow; params: Readonly<Record<string, string>> } | null {
  const parts = path.split('/');
  for (const page of PAGES) {
    const pattern = page.path.split('/');
    if (pattern.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const matches = pattern.every((wanted, n) => {
      const name = /^\{(\w+)\}$/.exec(wanted)?.[1];
      if (name === undefined) return wanted === parts[n];
      params[name] = decoded(parts[n]!);
      return parts[n] !== '';
    });
    if (matches) return { page, params };
  }
  return null;
}
