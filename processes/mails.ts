// Sends the mails about payments, plans, credits and reruns. The log says of each whether it was sent; a crash between the mail and its event sends it
// again, under the same id. A mail that cannot be sent now is tried again, less and less often, until the server takes it or refuses its recipient.
// Decision 63 says why.
import type { CommandContext } from '../commands/aggregate.ts';
import type { Mails } from '../commands/mail.ts';
import type { EventStore } from '../events/event-store.ts';
import { type MailDocument, mails as mailDocuments } from '../readmodels/mails.ts';
import { addressOf } from './address-of.ts';
import { type Mail, type Mailer, MailPutOff } from './mail.ts';
import { mailOf } from './mail-texts.ts';
import { type AnyManager, type ManagerLogger, processManager } from './process-manager.ts';

const AT_ONCE = 100;
const FIRST_RETRY_MS = 30_000;
const LAST_RETRY_MS = 3_600_000;
/** A server that fails this often in a pass is away: the others wait for the next pass. */
const MAX_FAILURES = 5;

export interface MailsOptions {
  log: EventStore;
  mails: Mails;
  mailer: Mailer;
  logger: Pick<ManagerLogger, 'warn'>;
  /** The console's page of the user's account, for mails that lead there. */
  account_url: string;
  context: (mail_id: string) => CommandContext;
  /** Mails in one pass, besides those that wait for their next attempt. Default 100. */
  at_once?: number;
}

export function mails(options: MailsOptions): AnyManager {
  const { log, mails, mailer, logger, account_url, context, at_once = AT_ONCE } = options;
  /** Returns why the mail is dropped; null when it was sent. Throws when a retry may help. */
  async function send(document: MailDocument): Promise<string | null> {
    const to = await addressOf(document.user_id, log);
    if (to === null) return 'the user has no address';
    const mail: Mail = { id: document._id, user_id: document.user_id, to, ...mailOf(document, account_url) };
    return mailer.send(mail);
  }
  return processManager({
    name: 'mails',
    finds: { in: mailDocuments, where: { status: 'due' } },
    order: 'created_at',
    since: ({ created_at }) => created_at,
    at_once,
    at_a_time: 1,
    most_failures: MAX_FAILURES,
    // A server that asks for this mail later is asked less and less often; one that fails is asked for a few mails until it works.
    retry_ms: (failures, error) =>
      error instanceof MailPutOff ? Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS) : null,
    async work(document) {
      const { _id: mail_id, user_id, kind } = document;
      // The read model may be behind the log.
      if (!(await mails.isOpen(mail_id))) return null;
      const dropped = await send(document);
      if (dropped !== null)
        logger.warn({ mail_id, kind, reason: dropped }, 'a mail was dropped: nobody can receive it');
      const recorded = await mails.record(mail_id, { user_id, kind, dropped }, context(mail_id));
      return recorded.ok ? recorded.position : null;
    },
    level: 'warn',
    fails: 'a mail could not be sent; it will be tried again',
  });
}
