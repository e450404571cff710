// Mail for those who have no mail server: a line in the log.
import type { Mailer } from '../../processes/mail.ts';

interface Log {
  warn(fields: object, message: string): void;
}

export function openLogMailer(log: Log): Mailer {
  return {
    async send(mail) {
      log.warn({ mail }, 'a mail that is not sent: SMTP_URL is unset');
      return null;
    },
    close() {},
  };
}
