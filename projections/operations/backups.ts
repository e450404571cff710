// The read model of backups.
import { idOf } from '../../events/streams.ts';
import { backups, startedBackup } from '../../readmodels/operations/backups.ts';
import { type Projection, projection } from '../projection.ts';

export const backupsProjection: Projection = projection({
  name: 'backups',
  version: 2,
  collections: [backups],
  covers: ['backup'],
  begin: (open) => open(backups),
  on: {
    BackupStarted: ({ stream, metadata: { at, actor } }, documents) =>
      documents.write([{ replace: startedBackup(idOf(stream), at, actor) }]),
    BackupCompleted: ({ stream, data, metadata: { at: ended_at } }, documents) => {
      const { key, position, events, files, missing_files = 0, size_bytes, sha256, duration_ms } = data;
      const found = { key, position, events, files, missing_files, size_bytes, sha256, duration_ms };
      return documents.write([{ update: idOf(stream), set: { $set: { status: 'completed', ended_at, ...found } } }]);
    },
    BackupFailed: ({ stream, data: failure, metadata: { at: ended_at } }, documents) =>
      documents.write([{ update: idOf(stream), set: { $set: { status: 'failed', ended_at, failure } } }]),
    BackupDeleted: ({ stream, metadata: { at: deleted_at } }, documents) =>
      documents.write([{ update: idOf(stream), set: { $set: { status: 'deleted', deleted_at } } }]),
  },
});
