// The names of the streams: `category-id`. The category ends at the first `-`.

export const userStream = (user_id: string) => `user-${user_id}`;
/** `address`: the keyed hash of a client's address. */
export const signupBonusesStream = (address: string) => `signup_bonuses-${address}`;
export const creditsStream = (user_id: string) => `credits-${user_id}`;
export const jobStream = (job_id: string) => `job-${job_id}`;
export const urlsStream = (job_id: string) => `urls-${job_id}`;
export const checksStream = (job_id: string, batch: number) => `checks-${job_id}-${batch}`;
export const apiKeysStream = (user_id: string) => `api_keys-${user_id}`;
export const apiKeyUsesStream = (key_id: string) => `api_key_uses-${key_id}`;
export const BLOCKLIST_STREAM = 'blocklist-domains';
export const domainChecksStream = (job_id: string) => `domain_checks-${job_id}`;
export const webhookEndpointsStream = (user_id: string) => `webhook_endpoints-${user_id}`;
export const webhookDeliveryStream = (delivery_id: string) => `webhook_delivery-${delivery_id}`;
export const idempotencyStream = (hash: string) => `idempotency-${hash}`;
export const paymentStream = (payment_id: string) => `payment-${payment_id}`;
export const subscriptionStream = (user_id: string) => `subscription-${user_id}`;
export const paymentIssueStream = (issue_id: string) => `payment_issue-${issue_id}`;
export const mailStream = (mail_id: string) => `mail-${mail_id}`;
export const proxyStream = (proxy_id: string) => `proxy-${proxy_id}`;
export const PROXY_LIST_STREAM = 'proxy_list-current';
export const sessionStream = (session_id: string) => `session-${session_id}`;
export const sharesStream = (job_id: string) => `shares-${job_id}`;
export const growthNoteStream = (note_id: string) => `growth_note-${note_id}`;
export const backupStream = (backup_id: string) => `backup-${backup_id}`;
export const shareUsesStream = (share_id: string) => `share_uses-${share_id}`;

/** `day`: such as `2026-01-31` (UTC). */
export const intakeStream = (day: string, shard: number) => `intake-${day}-${shard}`;

/** Whose personal fields a key seals. */
export type PersonalSubject = `user/${string}` | `job/${string}` | `endpoint/${string}` | 'service';
export const personalKeyStream = (subject: PersonalSubject) => `personal_keys-${subject}`;

export const LOG_IDENTITY_STREAM = 'service-log';
export const LEDGER_HEADS_STREAM = 'ledger_heads-log';
export const MAINTENANCE_STREAM = 'service-maintenance';
export const PARKED_STREAM = 'service-parked';
export const PERIODS_STREAM = 'service-periods';
export const BACKUP_TURN_STREAM = 'service-backups';
export const WORKER_LOG_STREAM = 'worker_log-deletions';

/**
 * The part of a stream's name before the first dash.
 * @example categoryOf('checks-019aad3c-1f3e-7c04-9a37-3b1d9f0c2e51-0') // 'checks'
 */
export function categoryOf(stream: string): string {
  const end = stream.indexOf('-');
  return end < 0 ? stream : stream.slice(0, end);
}

/**
 * The part of a stream's name after the category.
 * @example idOf('user-alice-arden') // 'alice-arden'
 */
export function idOf(stream: string): string {
  return stream.slice(stream.indexOf('-') + 1);
}

/**
 * The job and the batch of a stream `checks-{jobId}-{batch}`.
 * @example checksOf('checks-019aad3c-1f3e-7c04-9a37-3b1d9f0c2e51-12').batch // 12
 */
export function checksOf(stream: string): { job_id: string; batch: number } {
  const end = stream.lastIndexOf('-');
  return { job_id: stream.slice('checks-'.length, end), batch: Number(stream.slice(end + 1)) };
}

/** The categories whose events are under the signed heads besides the ledger's. */
export const BILLED = ['payment', 'subscription'] as const;
export const isBilled = (category: string): boolean => (BILLED as readonly string[]).includes(category);
