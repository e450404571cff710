// The projector role: makes the read models from the log, and beside them the worker log, which has a checkpoint of its own.
import { identifyLog } from '../../commands/log-identity.ts';
import { ALL_PROJECTIONS, openWorkerLogFollower } from '../../projections/all.ts';
import { type ProjectorOptions, runProjector } from '../../projections/projector/projector.ts';
import { openLeases } from '../../roles/leases.ts';
import type { RoleParts } from './role.ts';

export type ProjectorParts = Pick<RoleParts, 'log' | 'listing' | 'documents' | 'logger' | 'signal' | 'say' | 'config'> &
  Partial<Pick<RoleParts, 'doing'>>;

export async function run({
  log,
  listing,
  documents,
  logger,
  signal,
  say,
  config,
  doing,
}: ProjectorParts): Promise<void> {
  const log_id = () => identifyLog(log, 'process:projector', Date.now());
  const leases = await openLeases(documents);
  const ended = new AbortController();
  const { disk_reserve_mb: reserve_mb } = config;
  const shared = {
    reserve_mb,
    log,
    listing,
    documents,
    leases,
    log_id,
    signal: AbortSignal.any([signal, ended.signal]),
  };
  const building = (name: string | null) => doing?.(name && `building ${name}`);
  const runs: ProjectorOptions[] = [
    { ...shared, building, logger, say, projections: ALL_PROJECTIONS },
    { ...shared, logger: logger.child({ follower: 'worker_log' }), ...openWorkerLogFollower(config) },
  ];
  // When one fails, the role ends both and runs again.
  const outcomes = await Promise.allSettled(runs.map((each) => runProjector(each).finally(() => ended.abort())));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}
