// Implements the commands' `Intake` port: reads the URLs of a job from a file or a list, and applies the current blocklist.
import type { Intake } from '../commands/intake.ts';
import type { Blocklist } from './blocklist.ts';
import { collectUrls, submitList } from './collect-urls.ts';
import { IntakeError } from './errors.ts';
import type { IntakeLimits } from './limits.ts';
import { openSheet } from './open-sheet.ts';

export function openIntake(blocklist: Blocklist, limits: Partial<IntakeLimits>): Intake {
  return {
    async urlsOf(given, options = {}) {
      const sheet = given.kind === 'file' ? await openSheet(given.path, given.filename, limits) : null;
      const { blocked_domain_of } = await blocklist.current();
      const how = { ...options, ...limits, blocked_domain_of };
      if (given.kind === 'list') return submitList(given.pages, how);
      return collectUrls(sheet!.cells(), how);
    },
    refusalOf: (error) => (error instanceof IntakeError ? error : null),
  };
}
