// `ops mails`: what is owed, and a test mail that says in words what stands in the way of every mail.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { openBilling } from '../../commands/billing/billing.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { projectedFolder } from '../support/projected-folder.ts';
import { opsHere } from '../support/run-ops.ts';
import { coded, commandContext } from '../support/stores.ts';

const FROM = 'URL checker <us@check.example>';

async function sendBy(t: ExecutionContext, options: SMTPServerOptions, user = '') {
  const server = new SMTPServer({ authOptional: true, hideSTARTTLS: true, ...options });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  t.teardown(() => new Promise<void>((closed) => server.close(closed)));
  const env = { SMTP_URL: `smtp://${user}127.0.0.1:${port}`, MAIL_FROM: FROM, DATA_DIR: 'none' };
  const { code, stdout } = await opsHere(['mails', 'send', 'op@example.com'], env);
  return { code, said: stdout.replace(`127.0.0.1:${port}`, 'SERVER') };
}
const refuse = (message: string, responseCode: number) => Object.assign(new Error(message), { responseCode });

test('a test mail that the server takes is no fault', async (t) => {
  const { code, said } = await sendBy(t, { onData: (stream, _, done) => void stream.resume().on('end', () => done()) });
  t.is(code, 0);
  t.regex(said, /^SERVER took the mail to op@example\.com/);
});

test('a test mail says in words what the server refuses, and shows no password', async (t) => {
  const sender = await sendBy(t, { onMailFrom: (_, __, done) => done(refuse('Sender address rejected', 550)) });
  t.is(sender.code, 1);
  t.regex(
    sender.said,
    /^SERVER refuses the sender URL checker <us@check\.example>\. Set MAIL_FROM .*Sender address rejected/,
  );
  const relay = await sendBy(t, { onRcptTo: (_, __, done) => done(refuse('Relaying denied', 550)) });
  t.regex(relay.said, /^SERVER does not send for this machine or this sender\..*Relaying denied/);
  const recipient = await sendBy(t, { onRcptTo: (_, __, done) => done(refuse('5.1.1 no such user', 550)) });
  t.regex(recipient.said, /^The server works, and takes no mail for op@example\.com: .*no such user/);
  const later = await sendBy(t, { onRcptTo: (_, __, done) => done(refuse('greylisted', 450)) });
  t.regex(later.said, /^SERVER works, and takes this mail later/);
  const credentials = await sendBy(
    t,
    { authOptional: false, allowInsecureAuth: true, onAuth: (_, __, done) => done(refuse('wrong', 535)) },
    'bob:a-secret@',
  );
  t.regex(credentials.said, /^SERVER refuses the user or the password of SMTP_URL/);
  t.notRegex(credentials.said, /a-secret/);
  const insecure = await sendBy(t, {
    onMailFrom: (_, __, done) => done(refuse('5.7.0 Must issue a STARTTLS command first', 530)),
  });
  t.regex(insecure.said, /^SERVER takes mails over TLS alone\. .*STARTTLS/);
  const encrypted = await sendBy(
    t,
    {
      ...{ authOptional: false, allowInsecureAuth: true },
      onAuth: (_, __, done) => done(refuse('Encryption required for requested authentication mechanism', 538)),
    },
    'bob:a-secret@',
  );
  t.regex(encrypted.said, /^SERVER takes mails over TLS alone\./);
});

test('a server that is not there is named with what to correct', async (t) => {
  const { code, stdout } = await opsHere(['mails', 'send', 'op@example.com'], {
    SMTP_URL: 'smtp://127.0.0.1:1',
    DATA_DIR: 'none',
  });
  t.is(code, 1);
  t.regex(stdout, /^127\.0\.0\.1:1 is not reached: .*\. Correct host and port of SMTP_URL/);
});

test('the list names the mails that are owed, and fails when the oldest waits for hours', async (t) => {
  const at = '2026-01-31T09:00:00.000Z';
  const folder = await projectedFolder(t, async (stored) => {
    const log = coded(stored as never);
    const paid = {
      type: 'purchase_paid',
      ...{ at, payment_id: 'pi_1', user_id: 'alice', customer_id: null },
      ...{ package_id: 'credits_5000', credits: 5000, amount_cents: 500, currency: 'usd' },
    } as const;
    const context = { ...commandContext(), now: Date.parse(at) };
    await openBilling(log, openCredits(log), 'sandbox').take(paid, context);
  });
  const { code, stdout } = await opsHere(['mails', 'list'], { DATA_DIR: folder });
  t.regex(stdout, /^2026-01-31T09:00:00\.000Z {2}\S+ {2}\w+ to alice\n1 due, 0 sent, 0 dropped\n$/);
  t.is(code, 1);
  const json = JSON.parse((await opsHere(['mails', 'list', '--json'], { DATA_DIR: folder })).stdout);
  t.like(json, { due: 1, mails: [{ user_id: 'alice', status: 'due' }] });
});
