// The read model of shares: a job's owner lists them, and a visitor's token leads to one.
import { type Document, kept, type ReadModelSpec } from './documents.ts';

/** `_id` is the SHA-256 of the token, hex. It is deleted with its job. */
export interface ShareDocument extends Document {
  job_id: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  use_count: number;
  last_used_at: string | null;
}

export const shares: ReadModelSpec<ShareDocument> = {
  name: 'shares',
  ...kept('under 1 kB a link', 'with the job', 'in_file'),
  fields: { job_id: 'string', created_at: 'string', revoked_at: 'string' },
  indexes: [{ fields: { job_id: 1, created_at: -1 } }],
};

export const SHARE_STATUSES = ['active', 'expired', 'revoked'] as const;

/** `now`: milliseconds since the epoch. */
export function shareStatus(
  share: Pick<ShareDocument, 'expires_at' | 'revoked_at'>,
  now: number,
): (typeof SHARE_STATUSES)[number] {
  if (share.revoked_at !== null) return 'revoked';
  return share.expires_at !== null && Date.parse(share.expires_at) <= now ? 'expired' : 'active';
}
