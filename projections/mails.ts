// The read model of mails: the first event that a mail is about makes its document, and later ones make no second.
import { type MailKind, mailId } from '../events/mail.ts';
import { idOf } from '../events/streams.ts';
import type { EventType, LogEvent } from '../events/vocabulary.ts';
import { type MailDocument, type MailFacts, mails } from '../readmodels/mails.ts';
import { type Projection, projection } from './projection.ts';
import { readAll, replaceAll } from './slices.ts';

type Page = Map<string, MailDocument>;
type About = LogEvent<
  | 'PaymentReceived'
  | 'SubscriptionPaymentFailed'
  | 'SubscriptionDowngraded'
  | 'TrialStarted'
  | 'JobCreated'
  | 'MailRequested'
>;

export const mailsProjection: Projection = projection({
  name: 'mails',
  version: 3,
  collections: [mails],
  covers: ['mail'],
  async begin(open, events): Promise<Page> {
    const about_mails = events.filter((event) => event.type !== 'JobCreated' || isRerun(event));
    if (about_mails.length === 0) return new Map();
    return readAll(await open(mails), about_mails.map(idOfMail));
  },
  on: {
    PaymentReceived(event, page) {
      const { user_id, amount_cents: total_cents, currency, credits, period, expires_at } = event.data;
      // The invoice of a trial, or of a change to a smaller plan.
      if (total_cents === 0 && credits === 0) return;
      const { paid_cents: amount_cents = total_cents, credited_cents } = event.data;
      const of_plan = period && { plan: period.plan, interval: period.interval };
      const until = expires_at === null ? {} : { until: expires_at };
      const by_balance = credited_cents ? { credited_cents } : {};
      owe(event, page, user_id, 'receipt', { amount_cents, ...by_balance, currency, credits, ...of_plan, ...until });
    },
    SubscriptionPaymentFailed: (event, page) =>
      owe(event, page, idOf(event.stream), 'payment_failed', { until: event.data.grace_until }),
    SubscriptionDowngraded: (event, page) => owe(event, page, idOf(event.stream), 'plan_ended', {}),
    TrialStarted(event, page) {
      const { plan, credits, period_end: until } = event.data;
      owe(event, page, idOf(event.stream), 'trial_started', { plan, credits, until });
    },
    JobCreated(event, page) {
      if (!isRerun(event)) return;
      const { owner_id, job_id, rerun_of, total_urls: urls, credits_allocated: credits } = event.data;
      owe(event, page, owner_id, 'job_rerun', { job_id, failed_job_id: rerun_of!, urls, credits });
    },
    MailRequested(event, page) {
      const { user_id, kind, ...facts } = event.data;
      owe(event, page, user_id, kind, facts);
    },
    MailSent: ({ stream }, page) => settle(stream, page, 'sent'),
    MailDropped: ({ stream }, page) => settle(stream, page, 'dropped'),
  },
  async end(page, open) {
    if (page.size === 0) return;
    await replaceAll(await open(mails), page.values());
  },
});

/** The events of other streams that a mail is about. */
const KINDS: Record<Exclude<About['type'], 'MailRequested'>, MailKind> = {
  PaymentReceived: 'receipt',
  SubscriptionPaymentFailed: 'payment_failed',
  SubscriptionDowngraded: 'plan_ended',
  TrialStarted: 'trial_started',
  JobCreated: 'job_rerun',
};

const isAbout = (type: EventType): type is keyof typeof KINDS => Object.hasOwn(KINDS, type);
const isRerun = ({ data }: LogEvent<'JobCreated'>) => data.rerun_of !== undefined;

function idOfMail(event: LogEvent): string {
  const { type, stream, data } = event;
  if (!isAbout(type)) return idOf(stream);
  return mailId(KINDS[type], 'payment_id' in data ? data.payment_id : idOf(stream));
}

function owe(event: About, page: Page, user_id: string, kind: MailKind, facts: MailFacts): void {
  const _id = idOfMail(event);
  if (page.has(_id)) return;
  page.set(_id, { _id, user_id, kind, facts, status: 'due', created_at: event.metadata.at });
}

function settle(stream: string, page: Page, status: 'sent' | 'dropped'): void {
  const mail = page.get(idOf(stream));
  if (mail) page.set(mail._id, { ...mail, facts: {}, status });
}
