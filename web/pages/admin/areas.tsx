// What stands above each page of administration: the way to the others.
import type { ComponentChildren } from 'preact';
import { to, useAddress } from '../../app/address.ts';

const AREAS = [
  { path: '/admin', label: 'Users' },
  { path: '/admin/jobs', label: 'Jobs' },
  { path: '/admin/audit-trail', label: 'Audit trail' },
  { path: '/admin/growth', label: 'Growth' },
  { path: '/admin/payments', label: 'Payments' },
  { path: '/admin/mails', label: 'Mails' },
  { path: '/admin/revenue', label: 'Revenue' },
  { path: '/admin/retention', label: 'Retention' },
  { path: '/admin/paywall', label: 'Paywall' },
  { path: '/admin/domains', label: 'Domains' },
  { path: '/admin/blocklist', label: 'Blocklist' },
  { path: '/admin/logs', label: 'Worker log' },
  { path: '/admin/proxies', label: 'Proxies' },
  { path: '/admin/services', label: 'Services' },
  { path: '/admin/maintenance', label: 'Maintenance' },
] as const;

interface AdminPageProps {
  /** What the page as a whole offers. */
  action?: ComponentChildren;
  children: ComponentChildren;
}

/** A page of its own area. The page of one user or domain has a heading of its own, and `Areas` above it. */
export function AdminPage({ action, children }: AdminPageProps) {
  return (
    <>
      <header class="title">
        <h1>Administration</h1>
        {action}
      </header>
      <Areas />
      {children}
    </>
  );
}

export function Areas() {
  const { path } = useAddress();
  return (
    <nav class="tabs" aria-label="Administration">
      {AREAS.map((area) => (
        <a key={area.path} href={to(area.path)} aria-current={path === area.path ? 'page' : undefined}>
          {area.label}
        </a>
      ))}
    </nav>
  );
}
