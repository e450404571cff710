// The read model of backups.
import { idOf } from '../../events/streams.ts';
import { backupRehearsals, backups, startedBackup } from '../../readmodels/operations/backups.ts';
import { type Projection, projection } from '../projection.ts';

export const backupsProjection: Projection = projection({
  name: 'backups',
  version: 3,
  collections: [backups, backupRehearsals],
  covers: ['backup'],
  begin: async (open) => ({ documents: await open(backups), rehearsals: await open(backupRehearsals) }),
  on: {
    BackupStarted: ({ stream, metadata: { at, actor } }, { documents }) =>
      documents.write([{ replace: startedBackup(idOf(stream), at, actor) }]),
    BackupCompleted: ({ stream, data, metadata: { at: ended_at } }, { documents }) => {
      const { key, position, events, files, missing_files = 0, size_bytes, sha256, duration_ms } = data;
      const found = { key, position, events, files, missing_files, size_bytes, sha256, duration_ms };
      return documents.write([{ update: idOf(stream), set: { $set: { status: 'completed', ended_at, ...found } } }]);
    },
    BackupFailed: ({ stream, data: failure, metadata: { at: ended_at } }, { documents }) =>
      documents.write([{ update: idOf(stream), set: { $set: { status: 'failed', ended_at, failure } } }]),
    BackupRehearsed: ({ stream, data: { events, files }, metadata: { at: rehearsed_at, actor } }, { rehearsals }) =>
      rehearsals.write([{ replace: { _id: idOf(stream), rehearsed_at, rehearsed_by: actor, events, files } }]),
    BackupDeleted: ({ stream, metadata: { at: deleted_at } }, { documents }) =>
      documents.write([{ update: idOf(stream), set: { $set: { status: 'deleted', deleted_at } } }]),
  },
});
