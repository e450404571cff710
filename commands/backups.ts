// The aggregate of one backup: it is started once, ends once, and is deleted once if it was completed. One stream for all backups
// decides which of them runs, so that of simultaneous requests one starts a backup.
import type { BackupCompleted, BackupEvent, BackupFailed, BackupRehearsed } from '../events/backup.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import type { BackupTurnEvent } from '../events/service.ts';
import { BACKUP_TURN_STREAM, backupStream } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, notRefused, openAggregate, type Refusal } from './aggregate.ts';
import { fromLastEvent } from './stream-states.ts';

export type Backup =
  | { readonly status: 'unknown' | 'running' | 'failed' | 'deleted' }
  | { readonly status: 'completed'; readonly key: string; readonly missing_files: number };

export const initial = (): Backup => ({ status: 'unknown' });
export const evolve = evolveBy<Backup, BackupEvent>({
  BackupStarted: () => ({ status: 'running' }),
  BackupCompleted: (_, { key, missing_files = 0 }) => ({ status: 'completed', key, missing_files }),
  BackupFailed: () => ({ status: 'failed' }),
  BackupRehearsed: (backup) => backup,
  BackupDeleted: () => ({ status: 'deleted' }),
});

export type BackupCommand =
  | { type: 'start' }
  | ({ type: 'complete' } & BackupCompleted)
  | ({ type: 'fail' } & BackupFailed)
  | ({ type: 'rehearse' } & BackupRehearsed)
  | { type: 'delete' };

/** A command that comes after the backup's end changes nothing: two processes may have written one backup. */
export function decide({ status }: Readonly<Backup>, command: BackupCommand): Decision<BackupEvent> {
  switch (command.type) {
    case 'start':
      return { events: status === 'unknown' ? [{ type: 'BackupStarted', data: {} }] : [] };
    case 'complete': {
      const { type: _, ...data } = command;
      return { events: status === 'running' ? [{ type: 'BackupCompleted', data }] : [] };
    }
    case 'fail': {
      const { type: _, ...data } = command;
      return { events: status === 'running' ? [{ type: 'BackupFailed', data }] : [] };
    }
    case 'rehearse': {
      // Also one of another log, or one whose file is gone here: each rehearsal is news.
      const { type: _, ...data } = command;
      return { events: [{ type: 'BackupRehearsed', data }] };
    }
    case 'delete':
      return { events: status === 'completed' ? [{ type: 'BackupDeleted', data: {} }] : [] };
  }
}

/** The backup that was admitted last; null before the first. */
interface Turn {
  backup_id: string | null;
}
const turn = {
  initial: (): Turn => ({ backup_id: null }),
  evolve: evolveBy<Turn, BackupTurnEvent>({ BackupAdmitted: (_, { backup_id }) => ({ backup_id }) }),
};

/** Another backup runs. */
export type BackupRunning = Refusal & { code: 'backup_running'; backup_id: string };

export type Backups = ReturnType<typeof openBackups>;

export function openBackups(log: EventStore) {
  const aggregate = openAggregate<Backup, BackupEvent>(log, { initial, evolve });
  const turns = openAggregate<Turn, BackupTurnEvent>(log, turn, { begin: fromLastEvent(log, turn) });

  const read = async (backup_id: string) => (await aggregate.read(backupStream(backup_id))).state;
  const run = (backup_id: string, command: BackupCommand, context: CommandContext) =>
    aggregate.handle(backupStream(backup_id), context, (state) => decide(state, command));

  /** Refuses while the admitted backup runs. Starts it when the request that was admitted died before it did. */
  async function admit(
    admitted: string | null,
    backup_id: string,
    context: CommandContext,
  ): Promise<Decision<BackupTurnEvent, BackupRunning>> {
    if (admitted === backup_id) return { events: [] };
    if (admitted !== null) {
      const { status } = await read(admitted);
      if (status === 'unknown') await run(admitted, { type: 'start' }, context);
      if (status === 'unknown' || status === 'running') {
        const message = `The backup ${admitted} is being written.`;
        return { refused: { code: 'backup_running', message, backup_id: admitted } };
      }
    }
    return { events: [{ type: 'BackupAdmitted', data: { backup_id } }] };
  }

  return {
    /** Reads the log. */
    read,
    /** Returns the backup after the command. */
    run,
    /** Starts a backup unless another one runs. */
    async start(
      backup_id: string,
      context: CommandContext,
    ): Promise<{ ok: true; position: Position } | { ok: false; refused: BackupRunning }> {
      const admitted = await turns.handle(BACKUP_TURN_STREAM, context, (state) =>
        admit(state.backup_id, backup_id, context),
      );
      if (!admitted.ok) return admitted;
      const { position } = notRefused(await run(backup_id, { type: 'start' }, context));
      return { ok: true, position };
    },
  };
}
