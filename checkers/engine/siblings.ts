// Probes as checks: a suspect page waits until a random sibling of it, a name that cannot be there, was asked for once for
// its folder and job, here or by another checker.
import type { Outcome } from '../../events/checks.ts';
import type { CheckRules } from './check.ts';
import { Job } from './job.ts';
import { Probes, type SendProbe, SILENT } from './probes.ts';
import { compareToProbe, folderOf, type ProbeAnswer, siblingOf } from './soft-404.ts';
import { NotStarted } from './types.ts';

export interface SiblingsOptions {
  rules: CheckRules;
  /** Checks the sibling before other checks of its job and host. */
  send: (probe: Job) => void;
  /** A sibling that nobody waits for is not to be checked. */
  cancel: (probe: Job) => void;
}

export class Siblings {
  readonly probes: Probes;
  readonly #options: SiblingsOptions;
  /** The siblings that are checked from here, by folder. */
  readonly #sent = new Map<string, Job>();
  #closed = false;

  constructor(options: SiblingsOptions) {
    this.#options = options;
    this.probes = new Probes(this.#send);
  }

  /**
   * Asks for a sibling of the page of `job`; `concluded` gets the page's outcome, perhaps at once. False, and nothing is
   * asked, when `job` is held and the folder's answer is not known.
   */
  compare(job: Job, concluded: (outcome: Outcome) => void): boolean {
    const { rules } = this.#options;
    const folder = `${job.group} ${folderOf(job.first)}`;
    if (job.only_shared && !this.probes.knows(folder) && !rules.pages.mayProbe(job.group, job.host)) {
      concluded(job.conclude('unknown'));
      return true;
    }
    if (job.isHeld && this.probes.recall(folder) === null) return false;
    const answered = (answer: ProbeAnswer): void =>
      concluded(job.conclude(compareToProbe(job.sketch!, job.first, job.final, answer)));
    job.probe = { folder, answered };
    if (this.probes.ask(folder, answered) === 'asked') return true;
    const url = siblingOf(job.first, rules.random()).href;
    const { owner, group } = job;
    (this.probes.peers ?? this.probes).probe({ folder, owner, group, url, on_behalf_of: job.first.href });
    return true;
  }

  /** A page waits for its folder no longer: a sibling that nobody waits for is asked only if its request is in flight. */
  remove({ probe }: Job): void {
    if (probe === null || !this.probes.dropped(probe.folder, probe.answered) || !this.isQueued(probe.folder)) return;
    this.#options.cancel(this.#sent.get(probe.folder)!);
    this.probes.cancelled(probe.folder);
  }

  /** Whether the sibling of a folder still waits here for its first request. */
  isQueued(folder: string): boolean {
    const probe = this.#sent.get(folder);
    return probe !== undefined && !probe.isUnderWay;
  }

  /** No sibling is asked from now on. Pages that wait are left to the caller. */
  close(): void {
    this.#closed = true;
  }

  readonly #send: SendProbe = ({ folder, owner, group, url, on_behalf_of }, answered) => {
    if (this.#closed) return;
    const probe: Job = new Job(new URL(url), owner ?? '', group, 'probe', this.#options.rules, {
      resolve: () => {
        this.#sent.delete(folder);
        answered({ status: probe.status, final_path: probe.final.pathname, sketch: probe.sketch });
      },
      // After a defect there is nothing to compare with. Of one that was cancelled, or closed, nobody wants to know.
      reject: (error) => {
        this.#sent.delete(folder);
        if (!this.#closed && !(error instanceof NotStarted)) answered(SILENT);
      },
    });
    probe.on_behalf_of = on_behalf_of ?? null;
    this.#sent.set(folder, probe);
    this.#options.send(probe);
  };
}
