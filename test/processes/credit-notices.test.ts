// Mails about credits: a balance that has fallen, and credits that expire soon, each told once.
import test, { type ExecutionContext } from 'ava';
import type { CreditsCommand } from '../../commands/ledger/credits.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openMails } from '../../commands/mail.ts';
import { chooseCreditMails, erase, openUserAggregate, see } from '../../commands/users/user.ts';
import { userStream } from '../../events/streams.ts';
import type { CreditMails } from '../../events/user.ts';
import { creditNoticesManagers } from '../../processes/credit-notices.ts';
import type { Mail } from '../../processes/mail.ts';
import { mails as sending } from '../../processes/mails.ts';
import { creditNotices } from '../../readmodels/billing/credit-notices.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';

const START = Date.parse('2026-01-31T09:00:00.000Z');
const DAY = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

async function world(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log } = stores;
  const clock = { now: START };
  const context = () => ({ ...commandContext(), now: clock.now });
  const sent: Mail[] = [];
  const mailer = {
    async send(mail: Mail) {
      sent.push(mail);
      return null;
    },
    erase: async () => {},
    close() {},
  };
  const readmodels = openReadModels(stores.documents);
  const account_url = 'https://urls.example/console/account';
  /** The managers of a process of its own. */
  function process() {
    const credits = openCredits(log);
    const mails = openMails(log);
    const notices = creditNoticesManagers({ readmodels, credits, mails, expiring_days: 7, context });
    const clocks = { logger: silent, now: () => clock.now, monotonic: () => clock.now };
    const passes = notices.map((one) => passesOf(one, readmodels, clocks));
    const sender = passesOf(sending({ log, mails, mailer, logger: silent, account_url, context }), readmodels, clocks);
    return {
      /** Whether something was requested. */
      notice: async () => (await Promise.all(passes.map((one) => one.pass()))).some((reached) => reached !== null),
      send: async () => void (await sender.pass()),
    };
  }
  const first = process();
  const credits = openCredits(log);
  const users = openUserAggregate(log);
  const known = { user_id: 'alice', email: 'alice@example.com' };
  await users.handle(userStream('alice'), context(), (user) => see(user, known));
  let jobs = 0;
  return {
    ...{ log, sent, clock, process },
    run: (command: CreditsCommand) => credits.run('alice', command, context()),
    grant: (amount: number, expires_at: string | null = null) =>
      credits.run(
        'alice',
        { type: 'grant', transaction_type: 'subscription', reference_id: `p${jobs++}`, amount, expires_at },
        context(),
      ),
    spend: (up_to: number, job_id = `j${jobs++}`) =>
      credits.run('alice', { type: 'reserve', reservation_id: `${job_id}:0`, job_id, up_to }, context()),
    choose: (chosen: CreditMails) =>
      users.handle(userStream('alice'), context(), (user) => chooseCreditMails(user, chosen)),
    erase: () => users.handle(userStream('alice'), context(), (user) => erase(user)),
    project: () => project(stores),
    /** The credits of which the read model knows when they expire. */
    async lots() {
      await project(stores);
      return (await readmodels.collection(creditNotices).get('alice'))!.lots;
    },
    /** What a pass sends. */
    async told() {
      const before = sent.length;
      await project(stores);
      await first.notice();
      await project(stores);
      await first.send();
      await project(stores);
      return sent.slice(before);
    },
  };
}

const LOW = 'Your credits are running low';

test('a balance that falls below a tenth of the last grant is told once, and again when it has risen and falls', async (t) => {
  const { grant, spend, told } = await world(t);
  await grant(1000);
  await spend(900);
  t.deepEqual(await told(), [], '100 are not less than 100');
  await spend(20);
  const [mail, ...others] = await told();
  t.deepEqual(others, []);
  t.like(mail, { to: 'alice@example.com', subject: LOW, unsubscribe_url: 'https://urls.example/console/account' });
  t.regex(mail!.text, /At 09:00 UTC on 2026-01-31 you had 80 credits left, which is less than 100\./);
  t.regex(mail!.text, /https:\/\/urls\.example\/console\/account\n$/);
  await spend(30);
  t.deepEqual(await told(), []);
  await grant(5000);
  t.deepEqual(await told(), []);
  await spend(4600);
  t.deepEqual(
    (await told()).map(({ text }) => /(\d+) credits left, which is less than (\d+)/.exec(text)?.slice(1)),
    [['450', '500']],
  );
});

test('the user sets the threshold, or none; a threshold above the balance is no fall', async (t) => {
  const { grant, spend, choose, told } = await world(t);
  await choose({ low_balance: 0, expiring_credits: true });
  await grant(1000);
  await spend(1000);
  t.deepEqual(await told(), []);
  await choose({ low_balance: 400, expiring_credits: true });
  t.deepEqual(await told(), [], 'it is below already');
  await grant(500);
  await spend(50);
  t.deepEqual(await told(), []);
  await spend(51);
  t.deepEqual((await told()).length, 1);
  await choose({ low_balance: 300, expiring_credits: true });
  await spend(100);
  t.deepEqual((await told()).length, 1, 'it was above the new threshold');
});

test('a balance that has risen before anybody looked is not told, and a fall of three days ago is no news', async (t) => {
  const { run, grant, spend, told, clock } = await world(t);
  await grant(100);
  await spend(95, 'cancelled');
  await run({ type: 'refund', job_id: 'cancelled', reservation_ids: ['cancelled:0'], amount: 95 });
  t.deepEqual(await told(), []);
  await spend(95);
  clock.now += 3 * DAY;
  t.deepEqual(await told(), []);
});

test('a plan that is renewed an hour after its credits expired is no low balance; one that is not is told a day later', async (t) => {
  const { run, grant, told, clock, choose } = await world(t);
  await choose({ low_balance: null, expiring_credits: false });
  const renew = async (end: number) => {
    clock.now = end;
    await run({ type: 'expire' });
    t.deepEqual(await told(), []);
    clock.now += DAY / 24;
    await grant(1000, iso(end + 28 * DAY));
    t.deepEqual(await told(), []);
  };
  const END = START + 28 * DAY;
  await grant(1000, iso(END));
  await renew(END);
  await renew(END + 28 * DAY);
  clock.now = END + 56 * DAY;
  await run({ type: 'expire' });
  clock.now += DAY - 1;
  t.deepEqual(await told(), []);
  clock.now += 1;
  t.deepEqual(
    (await told()).map(({ subject }) => subject),
    [LOW],
  );
});

test('credits that expire are told seven days before, once for each time of expiry, when there are some left', async (t) => {
  const { grant, spend, told, clock } = await world(t);
  const END = START + 28 * DAY;
  await grant(100, iso(END));
  await grant(40, iso(END));
  await grant(60, iso(START + 60 * DAY));
  await grant(70);
  await spend(20);
  clock.now = END - 7 * DAY - 1;
  t.deepEqual(await told(), []);
  clock.now += 1;
  const [mail, ...others] = await told();
  t.deepEqual(others, []);
  t.like(mail, { to: 'alice@example.com', subject: 'Credits of yours expire on 2026-02-28' });
  t.regex(mail!.text, /you had 120 credits that expire at 09:00 UTC on 2026-02-28\./);
  await grant(15, iso(END));
  clock.now = END - 1;
  t.deepEqual(await told(), []);
  clock.now = START + 53 * DAY;
  await spend(1000);
  t.deepEqual(
    (await told()).map(({ subject }) => subject),
    [LOW],
    'nothing is left to expire',
  );
});

test('credits that a job gives back before their time are told of, and used ones are forgotten when it is over', async (t) => {
  const { run, grant, spend, told, lots, clock } = await world(t);
  const END = START + 28 * DAY;
  await grant(100, iso(END));
  await spend(100, 'cancelled');
  t.is((await told()).length, 1, 'a low balance');
  await run({ type: 'refund', job_id: 'cancelled', reservation_ids: ['cancelled:0'], amount: 90 });
  clock.now = END - 7 * DAY;
  t.deepEqual(
    (await told()).map(({ subject }) => subject),
    ['Credits of yours expire on 2026-02-28'],
  );
  await spend(90);
  t.is((await lots()).length, 1);
  clock.now = END + 1;
  await grant(10);
  t.deepEqual(await lots(), []);
});

test('who wants no such mail gets none, nor does who was erased', async (t) => {
  const { grant, spend, choose, erase, told, clock, log } = await world(t);
  await choose({ low_balance: 0, expiring_credits: false });
  await grant(100, iso(START + 5 * DAY));
  await spend(99);
  t.deepEqual(await told(), []);
  await choose({ low_balance: null, expiring_credits: true });
  t.deepEqual(
    (await told()).map(({ subject }) => subject),
    ['Credits of yours expire on 2026-02-05'],
  );
  await grant(100, iso(START + 6 * DAY));
  await spend(95);
  await erase();
  t.deepEqual(await told(), []);
  clock.now += 5 * DAY;
  await spend(1);
  t.deepEqual(await told(), []);
  const requested = await Array.fromAsync(log.readAll({ filter: { categories: ['mail'] } }));
  t.deepEqual(
    requested.map(({ type }) => type),
    ['MailRequested', 'MailSent'],
  );
});

test('two processes at once, killed between the request and the mail, over old documents, send one of each', async (t) => {
  const { grant, spend, process, project, sent, log } = await world(t);
  await grant(100, iso(START + 5 * DAY));
  await spend(95);
  await project();
  await Promise.all([process().notice(), process().notice()]);
  await process().notice();
  await project();
  t.false(await process().notice(), 'what is requested is not found again');
  await process().send();
  await process().send();
  await project();
  await process().send();
  t.deepEqual(sent.map(({ subject }) => subject).sort(), ['Credits of yours expire on 2026-02-05', LOW]);
  const events = await Array.fromAsync(log.readAll({ filter: { categories: ['mail'] } }));
  t.deepEqual(events.map(({ type }) => type).sort(), ['MailRequested', 'MailRequested', 'MailSent', 'MailSent']);
});

test('a read model that is behind the log decides nothing', async (t) => {
  const { grant, spend, process, project, told } = await world(t);
  await grant(100);
  await spend(95);
  await project();
  await grant(1000);
  await process().notice();
  await project();
  t.deepEqual(await told(), []);
});
