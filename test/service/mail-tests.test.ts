// A test mail from administration: the process that sends mails sends it, and the answer says in words what to correct.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { startTestService } from '../support/service.ts';

const refuse = (message: string, responseCode: number) => Object.assign(new Error(message), { responseCode });

async function askedOf(t: ExecutionContext, settings: Record<string, string>, to: readonly string[]) {
  const service = await startTestService(settings);
  t.teardown(() => service.stop());
  const admin = await service.client('root', { is_admin: true });
  const answers = [];
  for (const address of to) answers.push(await admin.ask('POST', '/admin/mails/test', { to: address }));
  return { service, admin, answers };
}

async function smtpServer(t: ExecutionContext, options: SMTPServerOptions) {
  const server = new SMTPServer({ authOptional: true, hideSTARTTLS: true, ...options });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.teardown(() => new Promise<void>((closed) => server.close(closed)));
  return (listening.address() as AddressInfo).port;
}

test('an administrator sends a test mail, and is told what the mail server says against it', async (t) => {
  const taken: string[] = [];
  const port = await smtpServer(t, {
    onRcptTo({ address }, _, done) {
      if (address.startsWith('relayed')) return done(refuse('Relaying denied', 550));
      if (address.startsWith('nobody')) return done(refuse('5.1.1 no such user', 550));
      taken.push(address);
      done();
    },
    onData: (stream, _, done) => void stream.resume().on('end', () => done()),
  });
  const settings = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'us@check.example' };
  const { answers } = await askedOf(t, settings, ['op@example.com', 'relayed@example.com', 'nobody@example.com', 'op']);
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 422],
  );
  t.true(answers[0]!.body.sent);
  t.regex(answers[0]!.body.says, /took the mail to op@example\.com/);
  t.deepEqual(taken, ['op@example.com']);
  t.false(answers[1]!.body.sent);
  t.regex(answers[1]!.body.says, /does not send for this machine or this sender.*Relaying denied/);
  t.regex(answers[2]!.body.says, /takes no mail for nobody@example\.com: .*no such user/);
});

test('where no process sends mails, the answer says so, and no request is left for later', async (t) => {
  const { admin, service, answers } = await askedOf(t, { ROLES: 'http,projector' }, ['op@example.com']);
  t.like(answers[0], { status: 200, body: { sent: false } });
  t.regex(answers[0]!.body.says, /^No process with the role `processes` has taken the request/);
  t.is((await admin.ask('GET', '/admin/mails')).status, 200);
  t.is((await service.client('bob').then((bob) => bob.ask('POST', '/admin/mails/test', { to: 'a@b.c' }))).status, 403);
});
