// Implements the commands' `Intake` port: reads the URLs of a job from a file or a list, and applies the current blocklist.
import type { Intake } from '../commands/jobs/intake.ts';
import type { Blocklist } from './blocklist.ts';
import type { ClassifyOptions } from './classify-url.ts';
import { collectPages, submitList } from './collect-urls.ts';
import { IntakeError, namesNotAccepted } from './errors.ts';
import type { IntakeLimits } from './limits.ts';
import { openSheet } from './open-sheet.ts';
import { readingOf } from './sheet.ts';

/** The limits of jobs, and the addresses that the checker refuses, which no job pays for. */
export type IntakeRules = Partial<IntakeLimits> & Pick<ClassifyOptions, 'allows_address'>;

export function openIntake(blocklist: Blocklist, rules: IntakeRules): Intake {
  return {
    async urlsOf(given, options = {}) {
      const sheet = given.kind === 'file' ? await openSheet(given.path, given.filename, rules, options) : null;
      if (
        sheet?.warnings.includes('names_only') &&
        options.accept_names === false &&
        options.auto_add_prefix !== false
      ) {
        throw namesNotAccepted();
      }
      const { blocked_domain_of } = await blocklist.current();
      const how = { ...options, ...rules, ...options.sandbox, blocked_domain_of };
      const urls = given.kind === 'list' ? submitList(given.pages, how) : collectPages(sheet!.cells(), how);
      return {
        [Symbol.asyncIterator]: () => urls[Symbol.asyncIterator](),
        get summary() {
          return urls.summary;
        },
        get table() {
          return sheet?.table?.() ?? null;
        },
        reading: sheet && readingOf(sheet),
      };
    },
    refusalOf: (error) => (error instanceof IntakeError ? error : null),
  };
}
