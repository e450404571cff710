// The port of what sends mail. Adapters: `adapters/mail/{smtp,log}`.

export interface Mail {
  /** The same for the same mail sent again, so that receivers may tell. */
  id: string;
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /**
   * Resolves when the mail is taken, with null, or with why it never will be: then it is of no use to try again. Rejects
   * when it may be taken later.
   */
  send(mail: Mail): Promise<string | null>;
  close(): void;
}
