// The read model of browsers' sessions, for their users and for administrators. Whether a session is open is asked of the log.
import type { CollectionSpec, Document } from '../documents.ts';

/** One that was ended has no document; an expired one keeps its own until the user's next sign-in. */
export interface SessionDocument extends Document {
  user_id: string;
  is_admin: boolean;
  created_at: string;
  expires_at: string;
}

export const sessions: CollectionSpec<SessionDocument> = {
  name: 'sessions',
  fields: { user_id: 'string', created_at: 'string', expires_at: 'string' },
  indexes: [{ fields: { user_id: 1, created_at: -1 } }],
};
