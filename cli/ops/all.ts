// All commands of `npm run ops`.
import { accountingPayments, accountingRevenue, accountingUsage } from './accounting.ts';
import type { Command } from './command.ts';
import { doctor } from './doctor.ts';
import { eventsCopy } from './events-copy.ts';
import { eventsExport } from './events-export.ts';
import { eventsQuery } from './events-query.ts';
import { eventsCount, eventsRead } from './events-read.ts';
import { eventsTail } from './events-tail.ts';
import { fsck } from './fsck.ts';
import { ledgerExport, ledgerVerifyExport } from './ledger-export.ts';
import { ledgerJournal } from './ledger-journal.ts';
import { ledgerProveLast, ledgerVerifyLast } from './ledger-last.ts';
import { ledgerClose, ledgerPeriods } from './ledger-periods.ts';
import { ledgerHeads, ledgerProveConsistency, ledgerProveInclusion } from './ledger-proofs.ts';
import { ledgerSignHead } from './ledger-sign-head.ts';
import { ledgerStatement } from './ledger-statement.ts';
import { ledgerTrace } from './ledger-trace.ts';
import { ledgerTrialBalance } from './ledger-trial-balance.ts';
import { ledgerVerify } from './ledger-verify.ts';
import { mailsList, mailsSend } from './mails.ts';
import { parkDiscard, parkList, parkRetry } from './park.ts';
import { paymentsReconcile } from './payments-reconcile.ts';
import { projectionsCancel } from './projections-cancel.ts';
import { projectionsDiff } from './projections-diff.ts';
import { projectionsList } from './projections-list.ts';
import { projectionsRebuild } from './projections-rebuild.ts';
import { storeCompact } from './store-compact.ts';

export const COMMANDS: readonly Command[] = [
  doctor,
  ledgerVerify,
  ledgerStatement,
  ledgerTrialBalance,
  ledgerTrace,
  ledgerJournal,
  ledgerClose,
  ledgerPeriods,
  ledgerExport,
  ledgerVerifyExport,
  ledgerHeads,
  ledgerProveConsistency,
  ledgerProveInclusion,
  ledgerProveLast,
  ledgerVerifyLast,
  ledgerSignHead,
  paymentsReconcile,
  accountingRevenue,
  accountingPayments,
  accountingUsage,
  projectionsList,
  projectionsDiff,
  projectionsRebuild,
  projectionsCancel,
  parkList,
  parkRetry,
  parkDiscard,
  fsck,
  mailsList,
  mailsSend,
  storeCompact,
  eventsTail,
  eventsRead,
  eventsCount,
  eventsExport,
  eventsQuery,
  eventsCopy,
];
