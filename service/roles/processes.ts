// The processes role: the process managers, with the mail server and the sender of webhooks.
import { join } from 'node:path';
import { openCommandSigner } from '../../adapters/ledger-witness/command-signer.ts';
import { openWitness } from '../../adapters/ledger-witness/witnesses.ts';
import { openUndiciWebhookSender } from '../../adapters/webhook-sender/undici-webhook-sender.ts';
import { openNoteSigner, textOfNote } from '../../audit/signed-note.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import { originOf } from '../../events/ledger-head.ts';
import { ContinuousAudit } from '../../processes/ledger-audit.ts';
import type { OutsideSigner } from '../../processes/ledger-witness.ts';
import { tellingMailer } from '../../processes/mail.ts';
import { answerMailTests } from '../../processes/mail-tests.ts';
import { mailWitness } from '../../processes/mail-witness.ts';
import { runProcesses } from '../../processes/processes.ts';
import { openBackupProgress } from '../../readmodels/operations/backups.ts';
import { openMailTests } from '../../readmodels/operations/mail-tests.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openLeases } from '../../roles/leases.ts';
import type { Config } from '../../settings/config.ts';
import { keyOf } from '../local-key.ts';
import { openMailer } from '../open-mailer.ts';
import { openChargingProvider } from '../open-payments.ts';
import { sendTestMail } from '../test-mail.ts';
import type { RunRole } from './role.ts';

export const run: RunRole = async (parts) => {
  const { config, log, stored_log, listing, documents, queue, blobs, logger, signal, say, measure, managing, audited } =
    parts;
  const leases = await openLeases(documents);
  const readmodels = openReadModels(documents, { log_id: () => identifyLog(log, 'process:processes', Date.now()) });
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const webhook_key = await keyOf(config.webhook_signing_key, config.data_dir, 'webhook-key');
  const origin = originOf(await identifyLog(log, 'process:processes', Date.now()));
  const ledger_key = await keyOf(config.ledger_signing_key, config.data_dir, 'ledger-key');
  const heads = openLedgerHeads(log, origin, openNoteSigner(origin, ledger_key), outsideSigner(config));
  const mailer = tellingMailer(await openMailer(config), (fault) => parts.fault('mail', fault));
  const witnessAt = (url: string) => (url.startsWith('mailto:') ? mailWitness(url, mailer) : openWitness(url));
  const ledger_heads = {
    ...{ heads, interval_ms: config.ledger_head_minutes * 60_000 },
    ...(config.ledger_witness.length > 0 && { witnesses: config.ledger_witness.map(witnessAt) }),
    tellSigner: (fault: string | null) => parts.fault('ledger_signer', fault),
    tellWitness: (fault: string | null) => parts.fault('ledger_witness', fault),
  };
  const ledger_audit = new ContinuousAudit({
    ...{ stored_log, logger: logger.child({ part: 'ledger audit' }) },
    log_id: () => identifyLog(log, 'process:processes', Date.now()),
    folder: join(config.data_dir, 'ledger-audit'),
    replay_ms: config.ledger_audit_hours * 3_600_000,
    ...{ now: Date.now, monotonic: () => performance.now() },
  });
  audited(() => ledger_audit.sign());
  const sender = openUndiciWebhookSender({ allow_addresses: config.webhook_allow_addresses });
  const ended = new AbortController();
  const answering = answerMailTests(
    openMailTests(documents, Date.now),
    (to) => sendTestMail(mailer, to, config),
    AbortSignal.any([signal, ended.signal]),
  );
  try {
    const payments = await openChargingProvider(config);
    const webhooks = { webhook_key, sender, mailer, payments, trial_credits: config.trial_credits };
    await runProcesses({
      log,
      stored_log,
      backup_progress: openBackupProgress(documents),
      backup_retention: { keep: config.backup_keep, days: config.backup_keep_days },
      results_days: config.results_retention_days,
      expiring_credits_days: config.expiring_credits_days,
      account_url: `${config.public_url}/console/account`,
      listing,
      queue,
      logger,
      signal,
      say,
      measure,
      managing,
      ...webhooks,
      ledger_heads,
      ledger_audit,
      readmodels,
      leases,
      blobs,
      job_commands,
      credits,
    });
  } finally {
    ended.abort();
    await answering;
    sender.close();
    mailer.close();
  }
};

/** The key elsewhere that signs the heads too; null for none. */
function outsideSigner({ ledger_sign_command: command, ledger_sign_key: key }: Config): OutsideSigner | null {
  if (command === null) return null;
  const isSigned = (text: string, lines: string) => key === null || textOfNote(`${text}\n${lines}`, key) !== null;
  return openCommandSigner({ command, isSigned });
}
