// Sends the mails about payments, plans and reruns. The log says of each whether it was sent; a crash between the mail and its event sends it
// again, under the same id. A mail that cannot be sent now is tried again, less and less often, until the server takes it or refuses its recipient.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Mails } from '../commands/mail.ts';
import type { EventStore } from '../events/event-store.ts';
import { type MailDocument, mails as mailDocuments } from '../readmodels/mails.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { addressOf } from './address-of.ts';
import type { Mail, Mailer } from './mail.ts';
import { mailOf } from './mail-texts.ts';
import { passOnMoves } from './passes.ts';

const AT_ONCE = 100;
const SPACING_MS = 500;
const FIRST_RETRY_MS = 30_000;
const LAST_RETRY_MS = 3_600_000;
/** A server that fails this often in a pass is away: the others wait for the next pass. */
const MAX_FAILURES = 5;

interface Log {
  warn(fields: object, message: string): void;
}

export interface MailsOptions {
  log: EventStore;
  readmodels: ReadModels;
  mails: Mails;
  mailer: Mailer;
  logger: Log;
  context: (mail_id: string) => CommandContext;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  /** Mails in one pass, besides those that wait for their next attempt. Default 100. */
  at_once?: number;
}

export interface MailRounds {
  /** Sends the mails that are due. */
  pass(): Promise<void>;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runMails(options: MailsOptions, signal: AbortSignal, onPass: () => void): Promise<void> {
  const rounds = openMailRounds(options);
  const { readmodels } = options;
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, () => rounds.pass());
}

export function openMailRounds(options: MailsOptions): MailRounds {
  const { log, readmodels, mails, mailer, logger, context, monotonic, at_once = AT_ONCE } = options;
  /** The failures of each mail that is tried again, and when. */
  let waiting = new Map<string, { failures: number; retry_at: number }>();

  /** Returns why the mail is dropped; null when it was sent. Throws when a retry may help. */
  async function send(document: MailDocument): Promise<string | null> {
    const to = await addressOf(document.user_id, log);
    if (to === null) return 'the user has no address';
    const mail: Mail = { id: document._id, user_id: document.user_id, to, ...mailOf(document) };
    return mailer.send(mail);
  }

  return {
    async pass() {
      const due = await readmodels
        .collection(mailDocuments)
        .find({ status: 'due' }, { sort: { created_at: 1 }, limit: at_once + waiting.size });
      const still = new Map<string, { failures: number; retry_at: number }>();
      let failed = 0;
      for (const document of due) {
        const { _id: mail_id, user_id, kind } = document;
        const before = waiting.get(mail_id);
        if (failed >= MAX_FAILURES || (before && before.retry_at > monotonic())) {
          if (before) still.set(mail_id, before);
          continue;
        }
        try {
          // The read model may be behind the log.
          if ((await mails.stateOf(mail_id)) !== 'due') continue;
          const dropped = await send(document);
          await mails.record(mail_id, { user_id, kind, dropped }, context(mail_id));
          if (dropped !== null)
            logger.warn({ mail_id, kind, reason: dropped }, 'a mail was dropped: nobody can receive it');
        } catch (error) {
          failed += 1;
          const failures = (before?.failures ?? 0) + 1;
          const wait_ms = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS);
          still.set(mail_id, { failures, retry_at: monotonic() + wait_ms });
          logger.warn({ err: error, mail_id, kind, failures }, 'a mail could not be sent; it will be tried again');
        }
      }
      waiting = still;
    },
  };
}
