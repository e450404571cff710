// Sends mails by SMTP.
import { createTransport } from 'nodemailer';
import { type Mailer, MailPutOff } from '../../processes/mail.ts';
import { messageOf } from './message.ts';
import { isPutOff, recipientRefusal, type SmtpError } from './smtp-refusals.ts';

const TIMEOUT_MS = 30_000;

/**
 * `url`: `smtp://` or `smtps://` with user and password. `from`: the sender's address, with or without a name.
 * `send` returns null, or the reason when the server refuses this recipient alone for good; it throws every other failure.
 */
export function openSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport(url, { from });
  const sender = from
    .slice(from.lastIndexOf('<') + 1)
    .replace('>', '')
    .trim();
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'localhost';
  return {
    async send(mail) {
      try {
        await transport.sendMail({ ...messageOf(mail, domain), signal: AbortSignal.timeout(TIMEOUT_MS) });
        return null;
      } catch (error) {
        const failure = error as SmtpError;
        const refusal = recipientRefusal(failure, sender);
        if (refusal !== null) return refusal;
        if (isPutOff(failure)) throw new MailPutOff(failure.message, { cause: error });
        throw error;
      }
    },
    // The server has the mails.
    erase: async () => {},
    close: () => transport.close(),
  };
}
