// The port for sending mail. Adapters: `adapters/mail/{smtp,log}`.

export interface Mail {
  /** A repeated mail has the same id, so that receivers can recognise it. */
  id: string;
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /** Resolves with null when the server accepts the mail, and with a reason when it never will. Rejects when a retry may help. */
  send(mail: Mail): Promise<string | null>;
  close(): void;
}
