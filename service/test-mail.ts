// Sends a test mail as the service sends mails, and says in words what stands in its way.
import { randomUUID } from 'node:crypto';
import { smtpAdvice } from '../adapters/mail/smtp-advice.ts';
import type { SmtpError } from '../adapters/mail/smtp-refusals.ts';
import { type Mailer, MailPutOff } from '../processes/mail.ts';
import type { MailTestOutcome } from '../readmodels/operations/mail-tests.ts';
import type { Config } from '../settings/config.ts';

type MailSettings = Pick<Config, 'smtp_url' | 'mail_from' | 'data_dir'>;

/** Never throws. The sentence has no secret. */
export async function sendTestMail(mailer: Mailer, to: string, settings: MailSettings): Promise<MailTestOutcome> {
  const text = 'Your URL checker can send mails: this one was asked for by its operator.\n';
  const mail = { id: `test-${randomUUID()}`, user_id: 'test', to, subject: 'A test of your URL checker', text };
  try {
    const refused = await mailer.send(mail);
    if (refused === null) return { sent: true, says: sentBy(settings, to) };
    return {
      sent: false,
      says: `The server works, and takes no mail for ${to}: ${refused}. Mails to other users are sent.`,
    };
  } catch (error) {
    return { sent: false, says: adviceOf(error, settings) };
  }
}

const serverOf = (url: string) => new URL(url).host;

const sentBy = ({ smtp_url, data_dir }: MailSettings, to: string) =>
  smtp_url
    ? `${serverOf(smtp_url)} took the mail to ${to}. If it does not come, look into its spam folder and the server's log.`
    : `SMTP_URL is unset, so the mail is a file in ${data_dir}/outbox, and nobody receives it.`;

function adviceOf(error: unknown, { smtp_url, mail_from: from, data_dir }: MailSettings): string {
  if (!smtp_url) return `No mail can be written into ${data_dir}/outbox: ${(error as Error).message}.`;
  const cause = error instanceof MailPutOff ? error.cause : error;
  return smtpAdvice(cause as SmtpError, { server: serverOf(smtp_url), from });
}
