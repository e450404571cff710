// The port for sending mail. Adapters: `adapters/mail/{smtp,outbox}`.

export interface Mail {
  /** A repeated mail has the same id, so that receivers can recognise it. */
  id: string;
  user_id: string;
  to: string;
  subject: string;
  text: string;
  /** Where the user turns off mails of this kind; absent for those that everybody gets. */
  unsubscribe_url?: string;
}

export interface Mailer {
  /**
   * Resolves with null when the server accepts the mail, and with what the server says when it will never take a mail to this recipient.
   * Rejects with every other failure: a retry may help once the server is back, or an operator has mended the sender or the credentials.
   */
  send(mail: Mail): Promise<string | null>;
  /** Removes what the mailer keeps of mails to a user. */
  erase(user_id: string): Promise<void>;
  close(): void;
}

/** The server works, and asks that this mail be tried later. */
export class MailPutOff extends Error {}

/** Calls `tell` after each mail: with null when the server worked, else with what stands in the way of every mail. */
export function tellingMailer(mailer: Mailer, tell: (fault: string | null) => void): Mailer {
  return {
    ...mailer,
    async send(mail) {
      try {
        const refused = await mailer.send(mail);
        tell(null);
        return refused;
      } catch (error) {
        tell(error instanceof MailPutOff ? null : (error as Error).message);
        throw error;
      }
    },
  };
}
