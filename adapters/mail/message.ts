// A mail as nodemailer takes it, for servers and for files alike.
import type { Mail } from '../../processes/mail.ts';

/** `domain`: the part of the message's id that says who made it. */
export const messageOf = ({ id, to, subject, text, unsubscribe_url }: Mail, domain: string) => ({
  to: { name: '', address: to },
  ...{ subject, text, messageId: `<${id}@${domain}>` },
  headers: { 'Auto-Submitted': 'auto-generated' },
  ...(unsubscribe_url !== undefined && { list: { unsubscribe: unsubscribe_url } }),
});
