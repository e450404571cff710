// Opens the mailer that the settings name: an SMTP server, or files where there is none.
import { join } from 'node:path';
import { openOutboxMailer } from '../adapters/mail/outbox-mailer.ts';
import type { Mailer } from '../processes/mail.ts';
import type { Config } from '../settings/config.ts';

export async function openMailer(config: Pick<Config, 'data_dir' | 'mail_from' | 'smtp_url'>): Promise<Mailer> {
  const { data_dir, mail_from: from, smtp_url: url } = config;
  if (!url) return openOutboxMailer({ folder: join(data_dir, 'outbox'), from });
  const { openSmtpMailer } = await import('../adapters/mail/smtp-mailer.ts');
  return openSmtpMailer({ url, from });
}
