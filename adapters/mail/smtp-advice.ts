// What an operator does about a mail that an SMTP server did not take, in a sentence without secrets.
import { isPutOff, type SmtpError } from './smtp-refusals.ts';

/** Codes of the network and of nodemailer, by what they say of the server's address. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is not known',
  EDNS: 'its name is not known',
  ECONNREFUSED: 'nothing listens there',
  ECONNECTION: 'it takes no connection',
  ESOCKET: 'it takes no connection',
  ECONNRESET: 'it closes the connection',
  EHOSTUNREACH: 'no way leads there',
  ENETUNREACH: 'no way leads there',
  ETIMEDOUT: 'it does not answer in time',
  ABORT_ERR: 'it does not answer in time',
  TimeoutError: 'it does not answer in time',
};
/** A server that takes a login or a sender over TLS alone, and what it says then. */
const WANTS_TLS = /starttls|encryption required|must.{0,40}\btls\b|\btls\b.{0,40}required/i;
const OF_CERTIFICATE = /certificate|self.signed|altname|ERR_TLS|wrong version number/i;

/**
 * Says what is wrong and what to do. `server`: host and port.
 * @example smtpAdvice({ message: 'm', code: 'ECONNREFUSED' }, { server: 'mail.example:25', from: 'us@a.example' }) // 'mail.example:25 is not reached: nothing listens there. Correct host and port of SMTP_URL, or let the firewall pass this machine.'
 */
export function smtpAdvice(error: SmtpError, { server, from }: { server: string; from: string }): string {
  const { message, name = '', code = '', command, response } = error;
  const said = response === undefined ? '' : ` It said: ${response}`;
  if (response !== undefined && /^5/.test(response) && WANTS_TLS.test(response))
    return `${server} takes mails over TLS alone. Take smtps:// for port 465, or smtp:// with a port where it offers STARTTLS, usually 587.${said}`;
  if (isPutOff(error)) return `${server} works, and takes this mail later: the service tries again by itself.${said}`;
  if (response !== undefined && /^4/.test(response))
    return `${server} takes no mails now. The service tries again by itself; if it lasts, read the log of that server.${said}`;
  if (code === 'EAUTH' || command?.startsWith('AUTH'))
    return `${server} refuses the user or the password of SMTP_URL. Correct them; %-encode what is no letter or digit.${said}`;
  if (code === 'ENOAUTH') return `${server} needs a user and a password: write them into SMTP_URL.`;
  if (code === 'ETLS' || OF_CERTIFICATE.test(message))
    return `TLS with ${server} fails: ${message}. Take smtps:// for port 465, smtp:// for 587 and 25, and the name that its certificate has.`;
  if (command === 'MAIL FROM')
    return `${server} refuses the sender ${from}. Set MAIL_FROM to an address that it may send for.${said}`;
  if (command === 'RCPT TO' || command === 'DATA')
    return `${server} does not send for this machine or this sender. Give SMTP_URL its user and password, or let it relay for this machine; check MAIL_FROM.${said}`;
  const why = UNREACHABLE[code] ?? UNREACHABLE[name];
  if (why !== undefined)
    return `${server} is not reached: ${why}. Correct host and port of SMTP_URL, or let the firewall pass this machine.`;
  return `${server} took no mail: ${message}.${said}`;
}
