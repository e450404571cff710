// The projector role: makes the read models from the log.
import { identifyLog } from '../../commands/log-identity.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { runProjector } from '../../projections/projector.ts';
import { openLeases } from '../../roles/leases.ts';
import type { RunRole } from './role.ts';

export const run: RunRole = async ({ log, listing, documents, logger, signal, say }) => {
  const log_id = () => identifyLog(log, 'process:projector', Date.now());
  const leases = await openLeases(documents);
  await runProjector({ log, listing, documents, logger, signal, say, projections: ALL_PROJECTIONS, leases, log_id });
};
