// Mails about payments and plans: one for each, with retries, to the user's address.

import test, { type ExecutionContext } from 'ava';
import { openBilling } from '../../commands/billing/billing.ts';
import { openTrials } from '../../commands/billing/trial.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openMails } from '../../commands/mail.ts';
import { userStream } from '../../events/streams.ts';
import { type Mail, MailPutOff, tellingMailer } from '../../processes/mail.ts';
import { mails as sending } from '../../processes/mails.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';

const NOW = Date.parse('2026-01-31T09:00:00.000Z');
const at = new Date(NOW).toISOString();
const ACCOUNT = 'https://urls.example/console/account';

async function world(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log } = stores;
  const clock = { now: NOW, monotonic: 0 };
  const context = () => ({ ...commandContext(), now: clock.now });
  const sent: Mail[] = [];
  const server = { answer: async (): Promise<string | null> => null };
  /** The mails whose streams are damaged, which all are that are asked for while `damage.now`. */
  const damage = { now: false, ids: new Set<string>() };
  const mails = openMails(log);
  const mailer = {
    async send(mail: Mail) {
      const refused = await server.answer();
      if (refused === null) sent.push(mail);
      return refused;
    },
    erase: async () => {},
    close() {},
  };
  const isOpen = async (mail_id: string) => {
    if (damage.now) damage.ids.add(mail_id);
    if (damage.ids.has(mail_id)) throw new Error('the event is damaged');
    return mails.isOpen(mail_id);
  };
  const open = () =>
    passesOf(
      sending({ log, mails: { ...mails, isOpen }, mailer, logger: silent, account_url: ACCOUNT, context, at_once: 3 }),
      openReadModels(stores.documents),
      { logger: silent, now: () => clock.now, monotonic: () => clock.monotonic },
    );
  let rounds = open();
  const credits = openCredits(log);
  const record = (type: string, data: object) =>
    log.append(userStream('alice'), type === 'UserRegistered' ? 'no_stream' : 0, [
      {
        id: crypto.randomUUID(),
        ...{ type, data },
        metadata: { command_id: 'c', causation_id: 'c', actor: 'test', at },
      },
    ]);
  await record('UserRegistered', { user_id: 'alice', email: 'alice@example.com' });
  return {
    ...{ log, sent, server, damage, clock, context, credits, record },
    billing: openBilling(log, credits, 'sandbox'),
    restart: () => (rounds = open()),
    async pass() {
      await project(stores);
      await rounds.pass();
    },
    /** A pass over documents that do not have what the last one did. */
    stalePass: () => rounds.pass(),
  };
}

const PURCHASE = {
  type: 'purchase_paid',
  ...{ at, payment_id: 'pi_1', user_id: 'alice', customer_id: null },
  ...{ package_id: 'credits_5000', credits: 5000, amount_cents: 500, currency: 'usd' },
} as const;

test('a payment brings one receipt, however often it is reported and a pass is made', async (t) => {
  const { billing, context, pass, stalePass, sent, restart } = await world(t);
  await billing.take(PURCHASE, context());
  await billing.take(PURCHASE, context());
  await pass();
  await stalePass();
  restart();
  await pass();
  t.is(sent.length, 1);
  t.like(sent[0], { to: 'alice@example.com', user_id: 'alice', subject: 'Your receipt' });
  t.regex(sent[0]!.text, /5\.00 USD on 2026-01-31[\s\S]*5,000 credits, which never expire/);
});

test('a receipt names the amount as the provider counts its currency', async (t) => {
  const { billing, context, pass, sent } = await world(t);
  const of = { jpy: '500 JPY', kwd: '0.500 KWD', isk: '5.00 ISK', huf: '5.00 HUF' };
  for (const currency of Object.keys(of)) {
    await billing.take({ ...PURCHASE, payment_id: `pi_${currency}`, currency }, context());
    await pass();
  }
  for (const text of Object.values(of))
    t.true(
      sent.some((mail) => mail.text.includes(`your payment of ${text} on`)),
      text,
    );
});

test('nothing that was paid for nothing has a receipt, and one for no credits says so', async (t) => {
  const { billing, context, pass, sent } = await world(t);
  // The first invoice of a trial, or a change to a smaller plan.
  const lines = [
    { plan: 'pro', interval: 'month', period_start: at, period_end: at, is_proration: false, amount_cents: 0 },
  ] as const;
  const of_plan = { user_id: 'alice', customer_id: null, subscription_id: 'sub', payment_id: 'in_1', currency: 'usd' };
  await billing.take({ type: 'period_paid', at, ...of_plan, lines: [...lines], amount_cents: 0 }, context());
  await billing.take({ ...PURCHASE, credits: 0 }, context());
  await billing.take({ ...PURCHASE, payment_id: 'pi_coupon', amount_cents: 0, credits: 7 }, context());
  await pass();
  const [free, paid, ...others] = sent.map(({ text }) => text).sort();
  t.deepEqual(others, []);
  t.regex(free!, /0\.00 USD[\s\S]*brings 7 credits/);
  t.regex(paid!, /5\.00 USD[\s\S]*brings no credits/);
});

test('a failed payment, the end of the plan and a trial bring a mail each', async (t) => {
  const { log, billing, context, credits, pass, sent } = await world(t);
  const failed = { type: 'period_failed', at, user_id: 'alice', subscription_id: 'sub', payment_id: 'in_1' } as const;
  await billing.take(failed, context());
  await pass();
  // The news of an earlier attempt moves the grace and is no second mail.
  await billing.take({ ...failed, at: '2026-01-30T09:00:00.000Z' }, context());
  await openTrials(log, credits, 50_000).begin('alice', { job_id: 'j', completed_at: at }, context());
  await pass();
  await pass();
  t.deepEqual(sent.map(({ subject }) => subject).sort(), ['A month of the plan pro for you', 'Your payment failed']);
});

test('a mail that cannot be sent now is sent later, less and less often asked for, and never given up', async (t) => {
  const { billing, context, pass, sent, server, clock } = await world(t);
  let asked = 0;
  server.answer = async () => {
    asked += 1;
    throw new Error('away');
  };
  await billing.take(PURCHASE, context());
  await pass();
  await pass();
  t.is(asked, 1);
  clock.monotonic += 30_000;
  await pass();
  await pass();
  t.is(asked, 2);
  clock.monotonic += 3_600_000;
  server.answer = async () => null;
  await pass();
  t.is(sent.length, 1);
  server.answer = async () => {
    throw new Error('550 Sender address rejected');
  };
  await billing.take({ ...PURCHASE, payment_id: 'pi_2' }, context());
  await pass();
  clock.now += 40 * 86_400_000;
  clock.monotonic += 40 * 86_400_000;
  await pass();
  t.is(sent.length, 1);
  server.answer = async () => null;
  clock.monotonic += 3_600_000;
  await pass();
  t.is(sent.length, 2);
});

test('mails that wait for their next attempt hold up no later mail', async (t) => {
  const { billing, context, pass, sent, server } = await world(t);
  server.answer = async () => {
    throw new Error('greylisted');
  };
  for (const n of [1, 2, 3, 4]) await billing.take({ ...PURCHASE, payment_id: `pi_${n}` }, context());
  await pass();
  await pass();
  server.answer = async () => null;
  await billing.take({ ...PURCHASE, payment_id: 'pi_5', credits: 700 }, context());
  await pass();
  t.is(sent.length, 1);
  t.regex(sent[0]!.text, /700 credits/);
});

test('a mail whose stream is damaged holds up no later mail', async (t) => {
  const { billing, context, pass, sent, damage, clock } = await world(t);
  damage.now = true;
  await billing.take(PURCHASE, context());
  await pass();
  t.is(damage.ids.size, 1);
  damage.now = false;
  clock.monotonic += 30_000;
  await billing.take({ ...PURCHASE, payment_id: 'pi_2', credits: 700 }, context());
  await pass();
  t.is(sent.length, 1);
  t.regex(sent[0]!.text, /700 credits/);
});

test('a refused mail is dropped, and so is one to a user without an address', async (t) => {
  const { billing, context, pass, sent, server, record } = await world(t);
  let asked = 0;
  server.answer = async () => {
    asked += 1;
    return 'no such mailbox';
  };
  await billing.take(PURCHASE, context());
  await pass();
  await pass();
  t.is(asked, 1);
  await record('UserErased', {});
  await billing.take({ ...PURCHASE, payment_id: 'pi_2' }, context());
  await pass();
  await pass();
  t.is(asked, 1);
  t.deepEqual(sent, []);
});

test('what keeps every mail from going is reported until one goes; a refused or postponed recipient is not', async (t) => {
  const told: (string | null)[] = [];
  const answers = [
    async () => Promise.reject(new Error('550 Sender address rejected')),
    async () => Promise.reject(new MailPutOff('450 greylisted')),
    async () => Promise.reject(new Error('connect ECONNREFUSED')),
    async () => '550 5.1.1 unknown user',
    async () => null,
  ];
  const mailer = tellingMailer({ send: () => answers.shift()!(), erase: async () => {}, close() {} }, (fault) =>
    told.push(fault),
  );
  const mail: Mail = { id: 'm', user_id: 'alice', to: 'alice@example.com', subject: 's', text: 't' };
  while (answers.length > 0) await mailer.send(mail).catch(() => {});
  t.deepEqual(told, ['550 Sender address rejected', null, 'connect ECONNREFUSED', null, null]);
});
