// The texts of the mails about payments, plans and reruns.
import type { MailDocument, MailFacts } from '../readmodels/mails.ts';
import type { Mail } from './mail.ts';

type Text = Pick<Mail, 'subject' | 'text'>;

export const mailOf = ({ kind, facts, created_at }: MailDocument): Text => TEXTS[kind](facts, dayOf(created_at));

const TEXTS: Record<MailDocument['kind'], (facts: MailFacts, day: string) => Text> = {
  receipt: ({ amount_cents = 0, credited_cents = 0, currency = '', credits = 0, plan, interval, until }, day) => ({
    subject: 'Your receipt',
    text: paragraphs(
      `We received your payment of ${money(amount_cents, currency)} on ${day}. Thank you.`,
      ...(credited_cents > 0 ? [`Your balance paid ${money(credited_cents, currency)} more.`] : []),
      plan ? `It is for the plan ${plan}, by the ${interval}.` : 'It is for a package of credits.',
      until
        ? `It brings ${count(credits)}, which you can use until ${dayOf(until)}.`
        : `It brings ${count(credits)}, which never expire.`,
    ),
  }),
  payment_failed: ({ until }, day) => ({
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
};

const paragraphs = (...texts: string[]) => `${texts.join('\n\n')}\n`;
const money = (cents: number, currency: string) => `${(cents / 100).toFixed(2)} ${currency.toUpperCase()}`;
const count = (credits: number) => `${credits.toLocaleString('en')} credits`;
const dayOf = (time: string) => time.slice(0, 10);
