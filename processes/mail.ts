// The port for sending mail. Adapters: `adapters/mail/{smtp,outbox}`.

export interface Mail {
  /** A repeated mail has the same id, so that receivers can recognise it. */
  id: string;
  user_id: string;
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /** Resolves with null when the server accepts the mail, and with a reason when it never will. Rejects when a retry may help. */
  send(mail: Mail): Promise<string | null>;
  /** Removes what the mailer keeps of mails to a user. */
  erase(user_id: string): Promise<void>;
  close(): void;
}
