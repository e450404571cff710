// The read model of mails about credits. A balance falls once: by the entry that takes it below the threshold, until it has risen again.
// Decision 193 says why.
import { lotMovesOf, lotOpenedBy } from '../../events/credits.ts';
import { mailId } from '../../events/mail.ts';
import { idOf } from '../../events/streams.ts';
import { USUAL_CREDIT_MAILS } from '../../events/user.ts';
import type { EventTypeOf, LogEvent } from '../../events/vocabulary.ts';
import {
  type CreditNoticesDocument,
  creditNotices,
  expiryOf,
  fallOf,
  thresholdOf,
} from '../../readmodels/billing/credit-notices.ts';
import { handlersOf, type Projection, projection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';

type Page = Map<string, CreditNoticesDocument>;

export const creditNoticesProjection: Projection = projection({
  name: 'credit_notices',
  version: 1,
  collections: [creditNotices],
  covers: ['credits'],
  begin: async (open, events): Promise<Page> => readAll(await open(creditNotices), events.map(userOf)),
  on: {
    ...handlersOf('credits', enter),
    CreditMailsSet(event, page) {
      const notices = noticesOf(event, page);
      notices.wanted = event.data;
      const is_low = isLow(notices);
      // The user who sets the threshold above the balance sees both.
      if (!is_low || !notices.is_low) notices.low_at = null;
      Object.assign(notices, { is_low, expiring_at: nextOf(notices) });
    },
    MailRequested(event, page) {
      const notices = noticesOf(event, page);
      const { kind, until } = event.data;
      if (kind === 'low_balance') {
        if (idOf(event.stream) === mailId(kind, fallOf(notices))) notices.low_at = null;
      } else if (until !== undefined && idOf(event.stream) === mailId(kind, expiryOf(notices._id, until))) {
        notices.announced = [...notices.announced, until];
        notices.expiring_at = nextOf(notices);
      }
    },
    UserErased: erase,
    UserForgotten: erase,
  },
  async end(page, open) {
    await replaceAll(await open(creditNotices), page.values());
  },
});

type Entry = LogEvent<EventTypeOf<'credits'>>;

const userOf = ({ type, stream, data }: LogEvent): string => (type === 'MailRequested' ? data.user_id : idOf(stream));

function noticesOf(event: LogEvent, page: Page): CreditNoticesDocument {
  const _id = userOf(event);
  const known = page.get(_id);
  if (known) return known;
  const nothing = { is_low: false, low_entry: null, low_at: null, lots: [], announced: [], expiring_at: null };
  const notices = { _id, wanted: USUAL_CREDIT_MAILS, is_erased: false, balance: 0, last_grant: 0, ...nothing };
  page.set(_id, notices);
  return notices;
}

const isLow = (notices: CreditNoticesDocument) => notices.balance < thresholdOf(notices);

/** When the next credits expire for which no mail is requested. */
function nextOf({ wanted, is_erased, lots, announced }: CreditNoticesDocument): string | null {
  if (!wanted.expiring_credits || is_erased) return null;
  const times = lots.filter(({ remaining }) => remaining > 0).map(({ expires_at }) => expires_at);
  return times.filter((time) => !announced.includes(time)).sort()[0] ?? null;
}

function enter(event: Entry, page: Page): void {
  const notices = noticesOf(event, page);
  moveLots(event, notices);
  const fell = event.data.balance_after < notices.balance;
  notices.balance = event.data.balance_after;
  if (event.type === 'CreditsGranted') notices.last_grant = event.data.amount;
  const is_low = isLow(notices);
  if (!is_low) notices.low_at = null;
  else if (fell && !notices.is_low && !notices.is_erased)
    Object.assign(notices, { low_entry: event.revision, low_at: toldAt(event) });
  Object.assign(notices, { is_low, expiring_at: nextOf(notices) });
}

/** A provider is paid for the next period about an hour after the credits of the last one have expired: that is no news. */
const RENEWED_WITHIN_MS = 24 * 3_600_000;

function toldAt({ type, metadata: { at } }: Entry): string {
  return type === 'CreditsExpired' ? new Date(Date.parse(at) + RENEWED_WITHIN_MS).toISOString() : at;
}

/** Lots that have expired go, with those whose credits were used before, so that their number stays small; what a job gives back to one expires at once. */
function moveLots(event: Entry, notices: CreditNoticesDocument): void {
  for (const { lot_id, amount } of lotMovesOf(event)) {
    const lot = notices.lots.find((one) => one.lot_id === lot_id);
    if (lot) lot.remaining += amount;
  }
  const opened = lotOpenedBy(event);
  if (opened?.expires_at) {
    const lot = { lot_id: event.data.transaction_id, remaining: opened.credits, expires_at: opened.expires_at };
    notices.lots.push(lot);
  }
  const expired = event.type === 'CreditsExpired' ? event.data.lot_id : null;
  const is_over = (time: string) => Date.parse(time) <= Date.parse(event.metadata.at);
  notices.lots = notices.lots.filter(
    ({ lot_id, remaining, expires_at }) => lot_id !== expired && (remaining > 0 || !is_over(expires_at)),
  );
  notices.announced = notices.announced.filter((time) => notices.lots.some(({ expires_at }) => expires_at === time));
}

function erase(event: LogEvent<'UserErased' | 'UserForgotten'>, page: Page): void {
  const notices = noticesOf(event, page);
  Object.assign(notices, { is_erased: true, low_at: null, expiring_at: null });
}
