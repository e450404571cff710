// Requests the mails about credits: a balance has fallen, or credits expire soon. The mail's id is of the fall, or of the time of expiry, so that
// two passes request one mail (decision 193).
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/ledger/credits.ts';
import type { MailRequest, Mails } from '../commands/mail.ts';
import type { Position } from '../events/event-store.ts';
import { mailId } from '../events/mail.ts';
import { creditsStream, userStream } from '../events/streams.ts';
import {
  type CreditNoticesDocument,
  creditNotices,
  expiryOf,
  fallOf,
  thresholdOf,
} from '../readmodels/billing/credit-notices.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { DAY_MS } from '../time/units.ts';
import { type AnyManager, Later, processManager } from './process-manager.ts';

/** A balance that fell before is no news: also after an outage, and of the time before the service wrote such mails. */
const NEWS_MS = 3 * DAY_MS;
/** The read model may be behind the log for so long, before it is looked at again. */
const BEHIND_MS = 1_000;

export interface CreditNoticesOptions {
  readmodels: Pick<ReadModels, 'collection' | 'passed'>;
  credits: Pick<CreditsLedger, 'aggregate' | 'users'>;
  mails: Mails;
  /** Users are told so many days before their credits expire. */
  expiring_days: number;
  context: (user_id: string) => CommandContext;
}

export function creditNoticesManagers(options: CreditNoticesOptions): AnyManager[] {
  const { readmodels, credits, mails, expiring_days, context } = options;

  /** The document, as of all that the log has of the user now; null: the read model is behind. */
  async function newest(user_id: string): Promise<CreditNoticesDocument | null> {
    const reads = await Promise.all([
      credits.aggregate.read(creditsStream(user_id)),
      credits.users.read(userStream(user_id)),
    ]);
    for (const { position } of reads) if (!(await readmodels.passed(position, BEHIND_MS))) return null;
    return readmodels.collection(creditNotices).get(user_id);
  }

  async function request(about: string, data: MailRequest): Promise<Position | null> {
    const done = await mails.request(mailId(data.kind, about), data, context(data.user_id));
    return done.ok ? done.position : null;
  }

  const low = processManager<CreditNoticesDocument>({
    name: 'low balances',
    finds: { in: creditNotices, where: {} },
    order: 'low_at',
    due_at: { field: 'low_at', after_ms: 0, until_ms: NEWS_MS },
    async work({ _id: user_id, low_at }) {
      const notices = await newest(user_id);
      if (notices === null) return new Later(BEHIND_MS);
      if (notices.low_at === null || notices.low_at !== low_at) return null;
      const [credits, below] = [notices.balance, thresholdOf(notices)];
      return request(fallOf(notices), { user_id, kind: 'low_balance', credits, below });
    },
    fails: 'a user cannot be told of a low balance now; others are',
  });

  const expiring = processManager<CreditNoticesDocument>({
    name: 'expiring credits',
    finds: { in: creditNotices, where: {} },
    order: 'expiring_at',
    due_at: { field: 'expiring_at', after_ms: -expiring_days * DAY_MS, until_ms: 0 },
    async work({ _id: user_id, expiring_at: until }) {
      const notices = await newest(user_id);
      if (notices === null) return new Later(BEHIND_MS);
      if (until === null || notices.expiring_at !== until) return null;
      const lots = notices.lots.filter(({ expires_at }) => expires_at === until);
      const credits = lots.reduce((sum, { remaining }) => sum + remaining, 0);
      return request(expiryOf(user_id, until), { user_id, kind: 'expiring_credits', credits, until });
    },
    fails: 'a user cannot be told of credits that expire now; others are',
  });
  return [low, expiring];
}
