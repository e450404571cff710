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
import { openSmtpMailer } from '../../../adapters/mail/smtp-mailer.ts';

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
