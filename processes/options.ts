// What the process managers need.
import type { Logger } from 'pino';
import type { Queue } from '../checkers/queue.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import type { LedgerHeads } from '../commands/ledger/ledger-heads.ts';
import type { EventStore, StoredLog } from '../events/event-store.ts';
import type { UrlListing } from '../events/url-listing.ts';
import type { BackupProgressStore } from '../readmodels/operations/backups.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import type { ReportState } from '../roles/holding.ts';
import type { LeaseKeeper } from '../roles/leases.ts';
import type { ManagerSign } from '../roles/managers.ts';
import type { Retention } from './backups.ts';
import type { Dispatcher } from './dispatch.ts';
import type { SubscriptionEnder } from './erasures.ts';
import type { ContinuousAudit } from './ledger-audit.ts';
import type { Witness } from './ledger-witness.ts';
import type { Mailer } from './mail.ts';
import type { Removals } from './removals.ts';
import type { WebhookSender } from './webhook-sender.ts';

export interface ProcessesOptions {
  log: EventStore;
  /** The same log as it is stored, for backups. */
  stored_log: StoredLog;
  backup_progress: BackupProgressStore;
  backup_retention: Retention;
  /** The days for which the results of ended jobs are kept; null: for ever. */
  results_days: number | null;
  /** Default: one of its own. */
  listing?: UrlListing;
  readmodels: ReadModels;
  queue: Queue;
  leases: LeaseKeeper;
  blobs: Pick<Blobs, 'put' | 'get' | 'list' | 'delete'>;
  job_commands: Jobs;
  credits: CreditsLedger;
  sender: WebhookSender;
  /** The key from which the secrets of webhook endpoints derive. */
  webhook_key: Uint8Array;
  mailer: Mailer;
  /** Signs the heads of the ledger; null: it has none. */
  ledger_heads: {
    heads: LedgerHeads;
    interval_ms: number;
    /** Keep the heads outside of this machine. */
    witnesses?: readonly Witness[];
    /** Told what keeps the outside key from signing, and the witnesses from keeping; null for nothing. */
    tellSigner?: (fault: string | null) => void;
    tellWitness?: (fault: string | null) => void;
  } | null;
  /** Audits the ledger all the time; null: nobody does. */
  ledger_audit: ContinuousAudit | null;
  /** The payment provider; null where none is configured. */
  payments: SubscriptionEnder | null;
  /** The credits of a trial; 0: no trials begin. */
  trial_credits: number;
  /** Users are told so many days before their credits expire. */
  expiring_credits_days: number;
  /** The console's page of the user's account, for mails. */
  account_url: string;
  logger: Logger;
  signal: AbortSignal;
  say?: ReportState;
  /** Gets the function that tells of the managers. */
  managing?: (signs: () => ManagerSign[]) => void;
  /** Gets the function that tells of the work in flight. */
  measure?: (work: Dispatcher['inFlight']) => void;
  now?: () => number;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

export type ManagingOptions = ProcessesOptions & {
  removals: Removals;
  now: () => number;
  /** Wall time without its steps back. */
  steady: () => number;
  monotonic: () => number;
};
