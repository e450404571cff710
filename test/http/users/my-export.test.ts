// The file of a person's data has every read model that keeps something of them.
import test from 'ava';
import type { Parts } from '../../../http/group.ts';
import { group } from '../../../http/users/my-export.ts';
import { ALL_PROJECTIONS } from '../../../projections/all.ts';

/** The read models that the file leaves out, by the reason. */
const LEFT_OUT = {
  'nothing of a single person': [
    ...['blocked_domains', 'blocklist_version', 'domain_health', 'proxies', 'proxy_domains', 'proxy_pool', 'backups'],
    'backup_rehearsals',
    ...['growth_counts', 'growth_cohorts', 'growth_notes', 'paywall_counts', 'revenue_counts', 'user_counts'],
    ...['ledger_leaves', 'ledger_tree', 'ledger_heads'],
  ],
  'results of a job, which its own export has': ['results', 'job_stats', 'job_response_times', 'job_domains'],
  'made of the same events as what is in the file': [
    ...['user_list', 'user_search', 'growth_users', 'user_activity', 'paywall_users'],
    ...['revenue_customers', 'revenue_payments', 'payments', 'credit_notices'],
  ],
  'steps that are not done yet': ['pending', 'purges', 'erasures'],
  'what administrators did, and have to decide': ['audit_trail', 'payment_issues'],
};

test('every read model is in the file of a person, or is left out for a reason', (t) => {
  const exported: string[] = [];
  const read = (specs: Record<string, { name: string }>) =>
    exported.push(...Object.values(specs).map(({ name }) => name));
  group.open({ read } as unknown as Parts);
  const all = ALL_PROJECTIONS.flatMap(({ collections }) => collections.map(({ name }) => name));
  t.deepEqual([...exported, ...Object.values(LEFT_OUT).flat()].sort(), all.sort());
});
