// The processes role: the process managers, with the mail server and the sender of webhooks.
import { join } from 'node:path';
import { openOutboxMailer } from '../../adapters/mail/outbox-mailer.ts';
import { openUndiciWebhookSender } from '../../adapters/webhook-sender/undici-webhook-sender.ts';
import { openCredits } from '../../commands/credits.ts';
import { openJobs } from '../../commands/job.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { Mailer } from '../../processes/mail.ts';
import { runProcesses } from '../../processes/processes.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openLeases } from '../../roles/leases.ts';
import { keyOf } from '../local-key.ts';
import { openPayments } from '../open-payments.ts';
import type { RoleParts, RunRole } from './role.ts';

export const run: RunRole = async (parts) => {
  const { config, log, listing, documents, queue, blobs, logger, signal, say } = parts;
  const leases = await openLeases(documents);
  const readmodels = openReadModels(documents, { log_id: () => identifyLog(log, 'process:processes', Date.now()) });
  const [commands, credits] = [openJobs(log), openCredits(log)];
  const webhook_key = await keyOf(config.webhook_signing_key, config.data_dir, 'webhook-key');
  const sender = openUndiciWebhookSender({ allow_addresses: config.webhook_allow_addresses });
  const mailer = await openMailer(parts);
  try {
    const payments = await openPayments(config, () => config.public_url);
    const webhooks = { webhook_key, sender, mailer, payments, trial_credits: config.trial_credits };
    await runProcesses({
      log,
      listing,
      queue,
      logger,
      signal,
      say,
      ...webhooks,
      readmodels,
      leases,
      blobs,
      commands,
      credits,
    });
  } finally {
    sender.close();
    mailer.close();
  }
};

async function openMailer({ config }: RoleParts): Promise<Mailer> {
  const { data_dir, mail_from: from } = config;
  if (!config.smtp_url) return openOutboxMailer({ folder: join(data_dir, 'outbox'), from });
  const { openSmtpMailer } = await import('../../adapters/mail/smtp-mailer.ts');
  return openSmtpMailer({ url: config.smtp_url, from: config.mail_from });
}
