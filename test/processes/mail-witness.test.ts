// A mailbox that keeps the heads of the ledger: each head is one mail, which is tried again until the server takes it.
import test from 'ava';
import { openWitnessing } from '../../processes/ledger-witness.ts';
import type { Mail, Mailer } from '../../processes/mail.ts';
import { mailWitness } from '../../processes/mail-witness.ts';

const NOTE = 'example.com/ledger\n5\nroot\n\n— example.com/ledger c2lnbmF0dXJl\n';

test('a head goes to the mailbox once, and a server that is away is asked again and told', async (t) => {
  const sent: Mail[] = [];
  let answer: () => string | null = () => {
    throw new Error('the server is away');
  };
  const send: Mailer['send'] = async (mail) => {
    const refused = answer();
    if (refused === null) sent.push(mail);
    return refused;
  };
  const told: (string | null)[] = [];
  let now = 0;
  let note = NOTE;
  const { pass } = openWitnessing({
    last: async () => ({ note }),
    witnesses: [mailWitness('mailto:auditor@example.com', { send })],
    tell: (fault) => void told.push(fault),
    monotonic: () => now,
  });
  await pass();
  t.is(told.at(-1), 'auditor@example.com: the server is away');
  await pass();
  t.is(told.at(-1), 'auditor@example.com: the server is away', 'it waits for its next attempt');
  answer = () => '550 no such mailbox';
  now += 60_000;
  await pass();
  t.is(told.at(-1), 'auditor@example.com: 550 no such mailbox');
  answer = () => null;
  now += 600_000;
  await pass();
  t.is(told.at(-1), null);
  await pass();
  t.is(sent.length, 1, 'the same head is not sent again');
  t.like(sent[0], { to: 'auditor@example.com', subject: 'Signed head of the ledger example.com/ledger', text: NOTE });
  note = NOTE.replace('5', '6');
  await pass();
  t.is(sent.length, 2);
  t.not(sent[0]!.id, sent[1]!.id);
});
