// The administrators' routes for backups.
import { openBackups } from '../../commands/backups.ts';
import { BACKUP_FAILURES } from '../../events/backup.ts';
import { Nullable, Type } from '../../events/schema.ts';
import {
  type BackupDocument,
  type BackupProgressDocument,
  backupRehearsals,
  backups,
  startedBackup,
} from '../../readmodels/operations/backups.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { routeOf } from '../frame/route.ts';
import { Count, listOf, listReply, NullableTime, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ log, read, backup_progress }: Parts) => ({
  commands: openBackups(log),
  read: read({ backups, backupRehearsals }),
  progress: backup_progress,
});
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'administration');

const counts = {
  events: Count('Events of the log.'),
  files: Count('Stored files.'),
  size_bytes: Count('Bytes of the backup.'),
};

const BackupView = Type.Object(
  {
    backup_id: Type.String({ format: 'uuid' }),
    status: Type.Enum(['running', 'completed', 'failed', 'deleted'] as const, {
      description: 'Deleted: it was complete, and the retention has removed its file.',
    }),
    started_at: Time('When it was asked for.'),
    started_by: Type.String({ description: 'Who asked for it.' }),
    ended_at: { ...NullableTime, description: 'When it was complete, or failed.' },
    deleted_at: NullableTime,
    duration_ms: Nullable(Count('How long the writing took.')),
    progress: Nullable(
      Type.Object(counts, {
        description:
          'What is written so far, as of a second ago; zeros until the writing begins. Null when it does not run.',
      }),
    ),
    position: Nullable(Type.String({ description: 'It has the events of the log up to this position.' })),
    events: Nullable(counts.events),
    files: Nullable(counts.files),
    missing_files: Nullable(Count('Uploads of jobs that were not among the stored files, and so are not in it.')),
    size_bytes: Nullable(counts.size_bytes),
    sha256: Nullable(Type.String({ description: 'The checksum of the file, as `sha256sum` prints it.' })),
    rehearsed_at: {
      ...NullableTime,
      description: 'When it was last restored into an empty folder to try it, by `npm run backup -- rehearse`.',
    },
    key: Nullable(Type.String({ description: 'The key of the file among the stored files.' })),
    failure: Nullable(
      Type.Object({
        reason: Type.Enum(BACKUP_FAILURES, {
          description:
            '`interrupted`: the processes that wrote it ended; `storage_full`: there was no room for it; `fault`: see the message.',
        }),
        message: Type.String(),
      }),
    ),
  },
  { $id: 'Backup' },
);

const startedExample = {
  ...{ backup_id: '7b0d9c0e-5c39-4c1c-9d0b-0a4f6f1a2b3c', status: 'running' },
  ...{ started_at: '2026-01-31T09:00:00.000Z', started_by: 'admin:root', ended_at: null, deleted_at: null },
  ...{ duration_ms: null, progress: { events: 0, files: 0, size_bytes: 0 }, position: null, events: null },
  ...{ files: null, missing_files: null, size_bytes: null, sha256: null, rehearsed_at: null, key: null, failure: null },
};
const completedExample = {
  ...{ ...startedExample, status: 'completed', ended_at: '2026-01-31T09:00:21.000Z', duration_ms: 20_740 },
  ...{
    progress: null,
    position: '0000000000214310',
    events: 214_302,
    files: 61,
    missing_files: 0,
    size_bytes: 38_210_412,
  },
  rehearsed_at: '2026-02-01T03:00:00.000Z',
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  key: 'backups/7b0d9c0e-5c39-4c1c-9d0b-0a4f6f1a2b3c/2026-01-31T09-00-00-260Z-5f0c11aa.ndjson.zst',
};

const NOTHING = { events: 0, files: 0, size_bytes: 0 };

function backupView(
  { _id: backup_id, status, ...found }: BackupDocument,
  progress?: BackupProgressDocument,
  rehearsed_at: string | null = null,
) {
  const { events, files, size_bytes } = progress ?? NOTHING;
  return {
    backup_id,
    status,
    ...found,
    rehearsed_at,
    progress: status === 'running' ? { events, files, size_bytes } : null,
  };
}

async function viewsOf(found: readonly BackupDocument[], { read, progress }: Deps) {
  const running = found.filter(({ status }) => status === 'running').map(({ _id }) => _id);
  const known = new Map((await progress.read(running)).map((document) => [document._id, document]));
  const tried = await read.backupRehearsals.getMany(found.map(({ _id }) => _id));
  const rehearsed = new Map(tried.map(({ _id, rehearsed_at }) => [_id, rehearsed_at]));
  return (document: BackupDocument) =>
    backupView(document, known.get(document._id), rehearsed.get(document._id) ?? null);
}

const LIMIT = 20;

const list = route({
  id: 'listBackups',
  method: 'GET',
  path: '/admin/backups',
  access: 'admin',
  summary: 'List backups, the newest first',
  query: Type.Object(paging(LIMIT)),
  responses: { 200: listOf('A page of backups.', BackupView, completedExample, LIMIT) },
  async handler({ query }, deps) {
    const page = await pageOf(deps.read.backups, {}, { started_at: -1 }, query);
    return listReply(page, await viewsOf(page.items, deps), query);
  },
});

const start = route({
  id: 'startBackup',
  makes: true,
  method: 'POST',
  path: '/admin/backups',
  access: 'admin',
  summary: 'Start a backup of the log and the stored files',
  description:
    'The service writes it in the background: `GET /admin/backups` shows its progress. One runs at a time. ' +
    '`npm run backup -- restore` restores it.',
  responses: { 202: { description: 'The backup that runs now.', schema: BackupView, example: startedExample } },
  errors: {
    409: {
      description: 'Another backup runs; `details` has its id.',
      examples: {
        backup_running: {
          message: `The backup ${startedExample.backup_id} is being written.`,
          details: { backup_id: startedExample.backup_id },
        },
      },
    },
  },
  async handler({ command }, deps) {
    const context = command();
    const { command_id, now, actor } = context;
    const started = await deps.commands.start(command_id, context);
    if (!started.ok) {
      const { code, message, backup_id } = started.refused;
      throw new HttpError(409, code, message, { backup_id });
    }
    const body = backupView(startedBackup(command_id, new Date(now).toISOString(), actor));
    return { status: 202, body, position: started.position };
  },
});

export const group = groupOf(wire, [list, start]);
