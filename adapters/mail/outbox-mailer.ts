// Writes mails into files instead of sending them, for installations without a mail server: `outbox/{user}/{mail}.eml`.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mailer } from '../../processes/mail.ts';
import { messageOf } from './message.ts';

/** `from`: the sender's address, with or without a name. A repeated mail takes the place of its file. */
export function openOutboxMailer({ folder, from }: { folder: string; from: string }): Mailer {
  // The id of a user may hold anything, and the folder is removed with the user.
  const folderOf = (user_id: string) => join(folder, createHash('sha256').update(user_id).digest('hex').slice(0, 32));
  return {
    async send(mail) {
      const { id, user_id } = mail;
      // With the first mail: it is a large module.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' }, { from });
      const { message: bytes } = await transport.sendMail(messageOf(mail, 'outbox.invalid'));
      const own = folderOf(user_id);
      await mkdir(own, { recursive: true, mode: 0o700 });
      const draft = join(own, `.${randomBytes(8).toString('hex')}`);
      await writeFile(draft, bytes as Buffer, { mode: 0o600 });
      await rename(draft, join(own, `${id.replace(/[^\w-]/g, '_')}.eml`));
      return null;
    },
    erase: (user_id) => rm(folderOf(user_id), { recursive: true, force: true }),
    close() {},
  };
}
