// The texts of the mails about payments, plans, credits and reruns.
import { priceOf } from '../events/money.ts';
import type { MailDocument, MailFacts } from '../readmodels/mails.ts';
import type { Mail } from './mail.ts';

type Text = Pick<Mail, 'subject' | 'text' | 'unsubscribe_url'>;

/** `account_url`: the console's page of the user's account. */
export const mailOf = ({ kind, facts, created_at }: MailDocument, account_url: string): Text =>
  TEXTS[kind](facts, { day: dayOf(created_at), time: minuteOf(created_at), account_url });

interface Around {
  /** Of the event that the mail is about, in UTC. */
  day: string;
  time: string;
  account_url: string;
}

const TEXTS: Record<MailDocument['kind'], (facts: MailFacts, around: Around) => Text> = {
  receipt: ({ amount_cents = 0, credited_cents = 0, currency = '', credits = 0, plan, interval, until }, { day }) => ({
    subject: 'Your receipt',
    text: paragraphs(
      `We received your payment of ${priceOf(amount_cents, currency)} on ${day}. Thank you.`,
      ...(credited_cents > 0 ? [`Your balance paid ${priceOf(credited_cents, currency)} more.`] : []),
      plan ? `It is for the plan ${plan}, by the ${interval}.` : 'It is for a package of credits.',
      broughtBy(credits, until),
    ),
  }),
  payment_failed: ({ until }, { day }) => ({
    subject: 'Your payment failed',
    text: paragraphs(
      `The payment for your plan failed on ${day}. Your plan goes on until ${until ? dayOf(until) : 'the end of its period'}.`,
      'The payment is tried again. To change how you pay, open the portal from your account.',
    ),
  }),
  plan_ended: () => ({
    subject: 'Your plan has ended',
    text: paragraphs(
      'The payment for your plan was not made, so that your account is on the free plan now.',
      'Credits that you have stay until they expire. The plan comes back when the payment is made.',
    ),
  }),
  trial_started: ({ plan, credits = 0, until }) => ({
    subject: `A month of the plan ${plan} for you`,
    text: paragraphs(
      `The first job of your API key is complete. It begins a month of the plan ${plan} with ${count(credits)}, for nothing.`,
      `You can use them until ${until ? dayOf(until) : 'the month ends'}. Nothing is renewed or charged.`,
    ),
  }),
  job_rerun: ({ job_id, failed_job_id, urls = 0, credits = 0 }) => ({
    subject: 'We run your job again',
    text: paragraphs(
      `Your job ${failed_job_id} failed, and an administrator has started it again for you as job ${job_id}.`,
      `It has ${urls.toLocaleString('en')} URLs, and ${count(credits)} of yours are reserved for it. What it does not use comes back at its end.`,
      'The failed job stays as it is. Delete it to get back the credits that it did not use.',
    ),
  }),
  low_balance: ({ credits = 0, below = 0 }, { time, account_url }) => ({
    subject: 'Your credits are running low',
    unsubscribe_url: account_url,
    text: paragraphs(
      `At ${time} you had ${count(credits)} left, which is less than ${below.toLocaleString('en')}.`,
      'Each URL of a job costs one credit. A job that needs more than you have waits until you have more.',
      `Your account, and whether and when we write to you about a low balance: ${account_url}`,
    ),
  }),
  expiring_credits: ({ credits = 0, until = '' }, { time, account_url }) => ({
    subject: `Credits of yours expire on ${dayOf(until)}`,
    unsubscribe_url: account_url,
    text: paragraphs(
      `At ${time} you had ${count(credits)} that expire at ${minuteOf(until)}. Jobs that you start before then use these first.`,
      'Your other credits stay as they are. A plan that is renewed brings new ones.',
      `Your account, and whether we write to you before credits expire: ${account_url}`,
    ),
  }),
};

function broughtBy(credits: number, until: string | undefined): string {
  if (credits === 0) return 'It brings no credits.';
  return until
    ? `It brings ${count(credits)}, which you can use until ${dayOf(until)}.`
    : `It brings ${count(credits)}, which never expire.`;
}

const paragraphs = (...texts: string[]) => `${texts.join('\n\n')}\n`;
const count = (credits: number) => `${credits.toLocaleString('en')} ${credits === 1 ? 'credit' : 'credits'}`;
const dayOf = (time: string) => time.slice(0, 10);
/** Times of the log are in UTC. */
const minuteOf = (time: string) => `${time.slice(11, 16)} UTC on ${dayOf(time)}`;
