// Tells whose fault it is that an SMTP server did not take a mail: the recipient's alone, or that of the sender, the credentials or the server.
// Decision 152 says why.

/** The fields of the errors of nodemailer. */
export interface SmtpError {
  message: string;
  name?: string | undefined;
  code?: string | undefined;
  /** The command that failed; `API` where none was sent. */
  command?: string | undefined;
  responseCode?: number | undefined;
  response?: string | undefined;
}

/** RFC 3463: no such mailbox, no such domain, a wrong form, ambiguous, moved, a domain without mail; the mailbox is disabled or full. */
const OF_RECIPIENT = /^5\.(?:1\.(?:[12346]|10)|2\.[012])$/;
const ENHANCED = /\b5\.\d{1,3}\.\d{1,3}\b/;
/** What Microsoft's servers say of a mailbox that is not there, under a code of the network. */
const UNKNOWN_TO_MICROSOFT = /\b5\.4\.1\b.{0,200}\brecipient address(?:es)? rejected\b/i;
/** What servers say without an enhanced code. Their words for a refused sender, client or relay are not among these. */
const WORDS_OF_RECIPIENT = [
  /\b(?:no such|unknown|invalid|nonexistent|inactive) (?:user|recipient|mailbox|address|account)\b/i,
  /\b(?:user|recipient|mailbox|account|address)\b.{0,80}\b(?:unknown|unavailable|disabled|inactive|full|over quota)\b/i,
  /\b(?:user|recipient|mailbox|account|address)\b.{0,80}\b(?:not found|not exist|doesn't exist|not known)\b/i,
  /\bno mailbox\b|\bunrouteable address\b/i,
];
/** A server may check the sender only when it hears a recipient, and then answers the wrong command. */
const WORDS_OF_SENDER = /\bsender\b|\brelay|\bauth|\bcredential|\bblocked\b|\bblacklist|\bpolicy\b|\bdenied\b/i;

/**
 * Returns what the server says of this recipient alone when it refuses it for good; null when the mail may be taken later, or once an operator
 * has mended the sender or the credentials. `sender` is the address of the mail's sender.
 * @example recipientRefusal({ message: 'm', command: 'RCPT TO', responseCode: 550, response: '550 Relaying denied' }, 'us@a.example') // null
 * @example recipientRefusal({ message: 'm', command: 'RCPT TO', responseCode: 550, response: '550 5.1.1 gone' }, 'us@a.example') // '550 5.1.1 gone'
 */
export function recipientRefusal(error: SmtpError, sender: string): string | null {
  const { message, code, command, responseCode, response } = error;
  // No server was asked: the address has no form that SMTP can carry.
  if (code === 'EENVELOPE' && command === 'API') return /\brecipients?\b/i.test(message) ? message : null;
  if (response === undefined || responseCode === undefined || responseCode < 500) return null;
  if (command !== 'RCPT TO' && command !== 'DATA') return null;
  if (command === 'RCPT TO' && UNKNOWN_TO_MICROSOFT.test(response)) return response;
  if (WORDS_OF_SENDER.test(response) || response.toLowerCase().includes(sender.toLowerCase())) return null;
  const enhanced = ENHANCED.exec(response)?.[0];
  if (enhanced !== undefined) return OF_RECIPIENT.test(enhanced) ? response : null;
  return command === 'RCPT TO' && WORDS_OF_RECIPIENT.some((words) => words.test(response)) ? response : null;
}

/** RFC 3463: the mail system or the network fails, for every mail. */
const OF_SERVER = /\b4\.[34]\.\d{1,3}\b/;
const TEMPORARY = /\b4\.\d{1,3}\.\d{1,3}\b/;

/** Whether the server puts off this mail alone: it is greylisted, or the mailbox is busy. A server that closes, or has no room, takes no other mail either. */
export function isPutOff({ command, responseCode = 0, response = '' }: SmtpError): boolean {
  if (command !== 'RCPT TO' && command !== 'DATA') return false;
  if (responseCode < 400 || responseCode >= 500 || responseCode === 421) return false;
  return !OF_SERVER.test(response) && (responseCode !== 452 || TEMPORARY.test(response));
}
