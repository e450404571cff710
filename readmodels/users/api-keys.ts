// The read model of API keys: the list shows its documents, and each request's key is compared with one.
import type { KeyScopeName } from '../../events/api-key.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

export interface ApiKeyDocument extends Document {
  user_id: string;
  email: string | null;
  name: string;
  prefix: string;
  /** SHA-256 of the key, hex. */
  key_hash: string;
  /** Absent: the key may do everything. */
  scopes?: KeyScopeName[];
  /** ISO 8601; absent for a key without an end. */
  expires_at?: string;
  /** The most credits that all jobs of the key together may use; absent for a key without a limit. */
  credit_limit?: number;
  /** The credits that jobs have used of the limit; absent for none. */
  credits_used?: number;
  is_test?: boolean;
  created_at: string;
  revoked_at: string | null;
  /** To the hour. */
  last_used_at: string | null;
}

export const apiKeys: ReadModelSpec<ApiKeyDocument> = {
  name: 'api_keys',
  ...kept('under 1 kB a key', "with the user's erasure", 'in_file'),
  fields: { user_id: 'string', created_at: 'string', revoked_at: 'string' },
  indexes: [{ fields: { user_id: 1, created_at: -1 } }],
};
