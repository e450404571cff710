// Mails go to an SMTP server, or into files where there is none.
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { openOutboxMailer } from '../../../adapters/mail/outbox-mailer.ts';
import { smtpAdvice } from '../../../adapters/mail/smtp-advice.ts';
import { openSmtpMailer } from '../../../adapters/mail/smtp-mailer.ts';
import { isPutOff, type SmtpError } from '../../../adapters/mail/smtp-refusals.ts';
import { MailPutOff } from '../../../processes/mail.ts';

const mail = {
  id: 'endpoint-1',
  user_id: 'alice',
  to: 'alice@example.com',
  subject: 'It is ä',
  text: 'A line.\n\n.\nAnother line.\n',
};

async function mailerTo(t: ExecutionContext, options: SMTPServerOptions) {
  const server = new SMTPServer({ authOptional: true, hideSTARTTLS: true, ...options });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const mailer = openSmtpMailer({ url: `smtp://127.0.0.1:${port}`, from: 'URL checker <noreply@check.example>' });
  t.teardown(async () => {
    mailer.close();
    await new Promise<void>((closed) => server.close(closed));
  });
  return mailer;
}

const refuse = (message: string, responseCode: number) => Object.assign(new Error(message), { responseCode });

test('a mail arrives at its address, from the service, with its own id', async (t) => {
  const taken: { to: string[]; from: unknown; content: string }[] = [];
  const mailer = await mailerTo(t, {
    async onData(stream, { envelope }, done) {
      const { mailFrom, rcptTo } = envelope;
      taken.push({
        from: mailFrom,
        to: rcptTo.map(({ address }) => address),
        content: await text(stream),
      });
      done();
    },
  });
  t.is(await mailer.send(mail), null);
  t.is(taken.length, 1);
  t.like(taken[0], { from: { address: 'noreply@check.example' }, to: ['alice@example.com'] });
  const { content } = taken[0]!;
  t.regex(content, /^From: URL checker <noreply@check\.example>\r$/m);
  t.regex(content, /^Message-ID: <endpoint-1@check\.example>\r$/m);
  t.regex(content, /^Auto-Submitted: auto-generated\r$/m);
  t.regex(content, /^Subject: =\?UTF-8\?/m);
  t.regex(content, /A line\.\r\n\r\n\.\r\nAnother line\./);
  t.notRegex(content, /^List-/m);
  await mailer.send({ ...mail, unsubscribe_url: 'https://urls.example/console/account' });
  t.regex(taken[1]!.content, /^List-Unsubscribe: <https:\/\/urls\.example\/console\/account>\r$/m);
});

test('an address cannot smuggle in other recipients', async (t) => {
  const recipients: string[] = [];
  const mailer = await mailerTo(t, {
    onRcptTo({ address }, _session, done) {
      recipients.push(address);
      done();
    },
  });
  await mailer.send({ ...mail, to: 'a@example.com, b@example.com' }).catch(() => {});
  await mailer.send({ ...mail, to: 'a@example.com\r\nBcc: c@example.com' }).catch(() => {});
  t.false(recipients.includes('b@example.com') || recipients.includes('c@example.com'), recipients.join());
});

test('a permanent refusal of an address is returned as a value, and not retried', async (t) => {
  const mailer = await mailerTo(t, {
    onRcptTo: (_address, _session, done) => done(refuse('no such mailbox', 550)),
  });
  t.regex((await mailer.send(mail))!, /no such mailbox/);
});

test('what a server says of this recipient alone is a refusal, and nothing else', async (t) => {
  const reply = { text: '', code: 550, at: 'rcpt' };
  const mailer = await mailerTo(t, {
    onMailFrom: (_address, _session, done) => done(reply.at === 'from' ? refuse(reply.text, reply.code) : undefined),
    onRcptTo: (_address, _session, done) => done(reply.at === 'rcpt' ? refuse(reply.text, reply.code) : undefined),
    onData(stream, _session, done) {
      stream.resume().on('end', () => done(refuse(reply.text, reply.code)));
    },
  });
  const say = (at: string, said: string) => {
    Object.assign(reply, { at, code: Number(said.slice(0, 3)), text: said.slice(4) });
    return mailer.send(mail);
  };
  for (const [at, said] of [
    ['from', '550 Sender address rejected'],
    ['from', '550 5.1.1 User unknown'],
    ['from', '553 5.7.1 Sender address rejected: not owned by user'],
    ['rcpt', '550 Relaying denied'],
    ['rcpt', '554 5.7.1 <alice@example.com>: Relay access denied'],
    ['rcpt', '550 5.1.1 <noreply@check.example>: User unknown in virtual mailbox table'],
    ['rcpt', '550 5.1.0 <noreply@check.example>: Sender address rejected: User unknown in local recipient table'],
    ['rcpt', '530 5.7.0 Authentication required'],
    ['rcpt', '550 relay not permitted'],
    ['rcpt', "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"],
    ['rcpt', '550 5.7.1 Client host [192.0.2.1] blocked'],
    ['rcpt', '550 No'],
    ['rcpt', '503 Bad sequence of commands'],
    ['data', '554 5.7.1 Message rejected as spam'],
    ['data', '550 User unknown, or the message is bad'],
  ] as const)
    await t.throwsAsync(say(at, said), undefined, `${at} ${said}`);
  for (const [at, said] of [
    ['rcpt', '550 5.1.1 <alice@example.com>: Recipient address rejected: User unknown in local recipient table'],
    ['rcpt', '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup'],
    ['rcpt', '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)'],
    ['rcpt', '550-5.1.1 The email account that you tried to reach does not exist'],
    ['rcpt', '552 5.2.2 Mailbox full'],
    ['rcpt', '553 sorry, no mailbox here by that name (#5.1.1)'],
    ['rcpt', '550 No Such User Here'],
    ['rcpt', '550 Unknown user'],
    ['rcpt', '550 Requested action not taken: mailbox unavailable'],
    ['rcpt', '550 Unrouteable address'],
    ['data', '550 5.1.1 <alice@example.com> is unknown here'],
  ] as const)
    t.is(typeof (await say(at, said)), 'string', `${at} ${said}`);
});

test('a mail that a server puts off waits alone, and a server that takes nothing is a fault of its own', async (t) => {
  const said = { at: 'rcpt', text: '', code: 450 };
  const sayAt = (at: string) => (said.at === at ? refuse(said.text, said.code) : undefined);
  const mailer = await mailerTo(t, {
    onMailFrom: (_address, _session, done) => done(sayAt('from')),
    onRcptTo: (_address, _session, done) => done(sayAt('rcpt')),
    onData(stream, _session, done) {
      stream.resume().on('end', () => done(sayAt('data')));
    },
  });
  for (const [at, reply, is_put_off] of [
    ['rcpt', '450 4.2.0 Greylisted', true],
    ['rcpt', '451 4.7.1 Greylisted, come back', true],
    ['rcpt', '452 4.2.2 Mailbox full', true],
    ['data', '450 Later', true],
    ['rcpt', '452 Insufficient system storage', false],
    ['rcpt', '451 4.3.0 Temporary lookup failure', false],
    ['rcpt', '421 4.7.0 Closing', false],
    ['data', '451 4.3.0 Queue file write error', false],
    ['from', '452 4.3.1 No room', false],
    ['from', '451 4.7.1 Try later', false],
  ] as const) {
    Object.assign(said, { at, code: Number(reply.slice(0, 3)), text: reply.slice(4) });
    const error = await t.throwsAsync<Error>(mailer.send(mail));
    t.is(error instanceof MailPutOff, is_put_off, `${at} ${reply}`);
    const advice = smtpAdvice((error.cause ?? error) as SmtpError, { server: 'SERVER', from: 'us@check.example' });
    t.regex(advice, is_put_off ? /^SERVER works, and takes this mail later/ : /^SERVER takes no mails now/);
  }
});

test('a server that closes at a recipient puts no mail off', (t) => {
  const answer = { message: 'm', command: 'RCPT TO', responseCode: 421, response: '421 4.7.0 Closing' };
  t.false(isPutOff(answer));
  t.true(isPutOff({ ...answer, responseCode: 450, response: '450 4.7.0 Later' }));
});

test('an empty address is refused', async (t) => {
  const mailer = await mailerTo(t, {});
  t.regex((await mailer.send({ ...mail, to: '' }))!, /recipient/i);
});

test('the mailer throws temporary faults: a temporary refusal, an absent or a full server', async (t) => {
  const later = await mailerTo(t, { onRcptTo: (_address, _session, done) => done(refuse('later', 450)) });
  await t.throwsAsync(later.send(mail), { message: /later/ });
  const full = await mailerTo(t, {
    onData(stream, _session, done) {
      stream.resume().on('end', () => done(refuse('full', 552)));
    },
  });
  await t.throwsAsync(full.send(mail), { message: /full/ });
  const away = openSmtpMailer({ url: 'smtp://127.0.0.1:1', from: 'noreply@check.example' });
  await t.throwsAsync(away.send(mail), { message: /ECONNREFUSED/ });
});

test('without a server a mail is a file of its user, once, and goes with the user', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-outbox-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const mailer = openOutboxMailer({ folder, from: 'URL checker <noreply@check.example>' });
  t.is(await mailer.send(mail), null);
  await Promise.all([mailer.send(mail), mailer.send({ ...mail, user_id: '../../evil', id: '../x' })]);
  const files = async () => (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.eml')).sort();
  const [first, second] = await files();
  t.deepEqual([first, second].map((name) => name!.split('/').at(-1)).sort(), ['___x.eml', 'endpoint-1.eml']);
  const own = [first!, second!].find((name) => name.endsWith('endpoint-1.eml'))!;
  const content = await readFile(join(folder, own), 'utf8');
  t.regex(content, /^To: alice@example\.com$/m);
  t.regex(content, /^From: URL checker <noreply@check\.example>$/m);
  t.regex(content, /^Subject: =\?UTF-8\?/m);
  await mailer.erase('alice');
  t.is((await files()).length, 1);
  mailer.close();
});
