// The read model of browsers' sessions.
import { idOf } from '../../events/streams.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import type { Collection } from '../../readmodels/documents.ts';
import { type SessionDocument, sessions } from '../../readmodels/users/sessions.ts';
import { type Projection, projection } from '../projection.ts';

export const sessionsProjection: Projection = projection({
  name: 'sessions',
  version: 1,
  collections: [sessions],
  covers: ['session'],
  begin: (open) => open(sessions),
  on: {
    async SessionBegun({ data: { user_id, expires_at, is_admin = false }, stream, metadata: { at } }, documents) {
      await documents.write([
        { deleteMany: { user_id, expires_at: { $lte: at } } },
        { replace: { _id: idOf(stream), user_id, is_admin, created_at: at, expires_at } },
      ]);
    },
    SessionEnded: ({ stream }, documents) => documents.write([{ delete: idOf(stream) }]),
    SessionsEnded: removeSessions,
    UserErased: removeSessions,
    // A sign-in that had begun before the erasure may have begun a session after it.
    UserForgotten: removeSessions,
  },
});

function removeSessions({ stream }: LogEvent, documents: Collection<SessionDocument>): Promise<void> {
  return documents.write([{ deleteMany: { user_id: idOf(stream) } }]);
}
