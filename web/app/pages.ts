// The pages of the console: a line for each folder of `pages/`. A page is loaded when its address is first shown.
import type { ComponentType } from 'preact';
import type { PageProps } from './page-props.ts';

interface PageRow {
  /** Below the console, with parameters in braces. The first row that matches is shown. */
  path: string;
  title: string;
  /** Who may see it. The service decides what an answer shows; this spares others a page of refusals. */
  access: 'none' | 'user' | 'admin';
  load(): Promise<{ Page: ComponentType<PageProps> }>;
}

export const PAGES: readonly PageRow[] = [
  { path: '/sign-in', title: 'Sign in', access: 'none', load: () => import('../pages/sign-in/page.tsx') },
  { path: '/jobs', title: 'Jobs', access: 'user', load: () => import('../pages/jobs/page.tsx') },
  { path: '/jobs/new', title: 'New job', access: 'user', load: () => import('../pages/new-job/page.tsx') },
  { path: '/jobs/{job_id}', title: 'Job', access: 'user', load: () => import('../pages/job/page.tsx') },
  {
    path: '/jobs/{job_id}/changes',
    title: 'Changes',
    access: 'user',
    load: () => import('../pages/job-changes/page.tsx'),
  },
  { path: '/account', title: 'Account', access: 'user', load: () => import('../pages/account/page.tsx') },
  { path: '/account/buy', title: 'Buy credits', access: 'user', load: () => import('../pages/buy/page.tsx') },
  { path: '/account/payments', title: 'Payments', access: 'user', load: () => import('../pages/payments/page.tsx') },
  { path: '/account/api-keys', title: 'API keys', access: 'user', load: () => import('../pages/api-keys/page.tsx') },
  { path: '/account/webhooks', title: 'Webhooks', access: 'user', load: () => import('../pages/webhooks/page.tsx') },
  { path: '/account/sessions', title: 'Browsers', access: 'user', load: () => import('../pages/sessions/page.tsx') },
  {
    path: '/account/webhooks/{endpoint_id}',
    title: 'Webhook endpoint',
    access: 'user',
    load: () => import('../pages/webhook/page.tsx'),
  },
  { path: '/admin', title: 'Users', access: 'admin', load: () => import('../pages/admin/users/page.tsx') },
  {
    path: '/admin/users/{user_id}',
    title: 'User',
    access: 'admin',
    load: () => import('../pages/admin/user/page.tsx'),
  },
  { path: '/admin/growth', title: 'Growth', access: 'admin', load: () => import('../pages/admin/growth/page.tsx') },
  { path: '/admin/revenue', title: 'Revenue', access: 'admin', load: () => import('../pages/admin/revenue/page.tsx') },
  {
    path: '/admin/retention',
    title: 'Retention',
    access: 'admin',
    load: () => import('../pages/admin/retention/page.tsx'),
  },
  { path: '/admin/paywall', title: 'Paywall', access: 'admin', load: () => import('../pages/admin/paywall/page.tsx') },
  { path: '/admin/domains', title: 'Domains', access: 'admin', load: () => import('../pages/admin/domains/page.tsx') },
  {
    path: '/admin/domains/{domain}',
    title: 'Domain',
    access: 'admin',
    load: () => import('../pages/admin/domain/page.tsx'),
  },
  {
    path: '/admin/blocklist',
    title: 'Blocklist',
    access: 'admin',
    load: () => import('../pages/admin/blocklist/page.tsx'),
  },
  {
    path: '/admin/jobs',
    title: 'Jobs of all users',
    access: 'admin',
    load: () => import('../pages/admin/jobs/page.tsx'),
  },
  {
    path: '/admin/jobs/{job_id}',
    title: 'Job of a user',
    access: 'admin',
    load: () => import('../pages/admin/job/page.tsx'),
  },
  {
    path: '/admin/audit-trail',
    title: 'Audit trail',
    access: 'admin',
    load: () => import('../pages/admin/audit-trail/page.tsx'),
  },
  {
    path: '/admin/payments',
    title: 'Payments',
    access: 'admin',
    load: () => import('../pages/admin/payments/page.tsx'),
  },
  {
    path: '/admin/mails',
    title: 'Mails',
    access: 'admin',
    load: () => import('../pages/admin/mails/page.tsx'),
  },
  { path: '/admin/logs', title: 'Worker log', access: 'admin', load: () => import('../pages/admin/logs/page.tsx') },
  { path: '/admin/proxies', title: 'Proxies', access: 'admin', load: () => import('../pages/admin/proxies/page.tsx') },
  {
    path: '/admin/proxies/{proxy_id}',
    title: 'Proxy',
    access: 'admin',
    load: () => import('../pages/admin/proxy/page.tsx'),
  },
  {
    path: '/admin/services',
    title: 'Services',
    access: 'admin',
    load: () => import('../pages/admin/services/page.tsx'),
  },
  {
    path: '/admin/maintenance',
    title: 'Maintenance',
    access: 'admin',
    load: () => import('../pages/admin/maintenance/page.tsx'),
  },
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
