// The witness that keeps the heads of the ledger in the mailbox of somebody else.
import { hash } from 'node:crypto';
import { OutsideFault, type Witness } from './ledger-witness.ts';
import type { Mailer } from './mail.ts';

/**
 * Mails each note, as its text, to the address of a `mailto:` URL.
 * @example mailWitness('mailto:auditor@example.com', {}).name // 'auditor@example.com'
 */
export function mailWitness(url: string, mailer: Pick<Mailer, 'send'>): Witness {
  const to = decodeURIComponent(new URL(url).pathname);
  return {
    name: to,
    async give(note) {
      const [origin = ''] = note.split('\n', 1);
      // The same head again is the same mail.
      const id = hash('sha256', note);
      const mail = { id, user_id: 'ledger-witness', to, subject: `Signed head of the ledger ${origin}`, text: note };
      const refused = await mailer.send(mail).catch((error: Error) => {
        throw new OutsideFault(error.message);
      });
      if (refused !== null) throw new OutsideFault(refused);
    },
  };
}
