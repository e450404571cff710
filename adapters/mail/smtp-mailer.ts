// Sends mails by SMTP.
import { createTransport } from 'nodemailer';
import type { Mailer } from '../../processes/mail.ts';

const TIMEOUT_MS = 30_000;

interface SmtpError {
  code?: string;
  responseCode?: number;
  response?: string;
}

/**
 * `url`: `smtp://` or `smtps://` with user and password. `from`: the sender's address, with or without a name.
 * `send` returns null, or the reason when the server refuses the recipient for good; it throws every other failure.
 */
export function openSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport(url, { from });
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'localhost';
  return {
    async send({ id, to, subject, text }) {
      const headers = { 'Auto-Submitted': 'auto-generated' };
      try {
        const message = { to: { name: '', address: to }, subject, text, headers, messageId: `<${id}@${domain}>` };
        await transport.sendMail({ ...message, signal: AbortSignal.timeout(TIMEOUT_MS) });
        return null;
      } catch (error) {
        const { code, responseCode, response } = error as SmtpError;
        // The server refuses the recipient for good. Other failures may be the server's or the operator's, and pass.
        if (code === 'EENVELOPE' && (responseCode ?? 500) >= 500) return response ?? (error as Error).message;
        throw error;
      }
    },
    // The server has the mails.
    erase: async () => {},
    close: () => transport.close(),
  };
}
