// The read model of browsers' sessions, for their users and for administrators. Whether a session is open is asked of the log.
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** One that was ended has no document; an expired one keeps its own until the user's next sign-in. */
export interface SessionDocument extends Document {
  user_id: string;
  is_admin: boolean;
  created_at: string;
  expires_at: string;
}

export const sessions: ReadModelSpec<SessionDocument> = {
  name: 'sessions',
  ...kept(
    '250 a session',
    "when it is ended, with the user's next sign-in after its end, and with the user's erasure",
    'in_file',
  ),
  fields: { user_id: 'string', created_at: 'string', expires_at: 'string' },
  indexes: [{ fields: { user_id: 1, created_at: -1 } }],
};
