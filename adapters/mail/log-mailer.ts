// Writes mails to the log instead of sending them, for installations without a mail server.
import type { Mailer } from '../../processes/mail.ts';

interface Log {
  warn(fields: object, message: string): void;
}

export function openLogMailer(log: Log): Mailer {
  return {
    async send(mail) {
      log.warn({ mail }, 'this mail was not sent: SMTP_URL is unset');
      return null;
    },
    close() {},
  };
}
