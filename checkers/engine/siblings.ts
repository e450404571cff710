// Runs probes as checks. A suspect page waits for the answer to a random sibling URL, which cannot exist. The
// sibling is requested once for each folder and job.
import type { Outcome } from '../../events/checks.ts';
import type { CheckRules } from './check.ts';
import { CheckInHand } from './check-in-hand.ts';
import { Probes, type SendProbe, SILENT } from './probes.ts';
import { compareToProbe, folderOf, type ProbeAnswer, siblingOf } from './soft-404.ts';
import { NotStarted } from './types.ts';

export interface SiblingsOptions {
  rules: CheckRules;
  /** Queues the sibling before other checks of its job and host. */
  send: (probe: CheckInHand) => void;
  /** Withdraws a queued sibling for which no page waits. */
  cancel: (probe: CheckInHand) => void;
}

export class Siblings {
  readonly probes: Probes;
  readonly #options: SiblingsOptions;
  /** The siblings that this checker checks, by folder. */
  readonly #sent = new Map<string, CheckInHand>();
  #closed = false;

  constructor(options: SiblingsOptions) {
    this.#options = options;
    this.probes = new Probes(this.#send);
  }

  /**
   * Compares the page of `check` with a sibling and calls `concluded` with the page's outcome, perhaps at once. Returns false
   * without a request when `check` is held and the folder's answer is not known.
   */
  compare(check: CheckInHand, concluded: (outcome: Outcome) => void): boolean {
    const { rules } = this.#options;
    const folder = `${check.group} ${folderOf(check.first)}`;
    if (check.isHeld && this.probes.recall(folder) === null) return false;
    const answered = (answer: ProbeAnswer): void =>
      concluded(check.conclude(compareToProbe(check.sketch!, check.first, check.final, answer)));
    check.probe = { folder, answered };
    if (this.probes.ask(folder, answered) === 'asked') return true;
    const url = siblingOf(check.first, rules.random()).href;
    const { owner, group } = check;
    this.probes.probe({ folder, owner, group, url, on_behalf_of: check.first.href });
    return true;
  }

  /** A page no longer waits for its folder. Cancels a queued sibling for which no other page waits. */
  remove({ probe }: CheckInHand): void {
    if (probe === null || !this.probes.dropped(probe.folder, probe.answered) || !this.isQueued(probe.folder)) return;
    this.#options.cancel(this.#sent.get(probe.folder)!);
    this.probes.cancelled(probe.folder);
  }

  /** Whether the sibling of a folder is queued here and its first request has not started. */
  isQueued(folder: string): boolean {
    const probe = this.#sent.get(folder);
    return probe !== undefined && !probe.isUnderWay;
  }

  /** Sends no sibling from now on. The caller ends the waiting pages. */
  close(): void {
    this.#closed = true;
  }

  readonly #send: SendProbe = ({ folder, owner, group, url, on_behalf_of }, answered) => {
    if (this.#closed) return;
    const probe: CheckInHand = new CheckInHand(new URL(url), owner, group, 'probe', this.#options.rules, {
      resolve: () => {
        this.#sent.delete(folder);
        answered({ status: probe.status, final_path: probe.final.pathname, sketch: probe.sketch });
      },
      // After a defect there is no page to compare with. No page waits for a cancelled probe.
      reject: (error) => {
        this.#sent.delete(folder);
        if (!this.#closed && !(error instanceof NotStarted)) answered(SILENT);
      },
    });
    probe.on_behalf_of = on_behalf_of;
    this.#sent.set(folder, probe);
    this.#options.send(probe);
  };
}
