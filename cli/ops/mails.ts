// `mails list` and `mails send`: the mails that the service owes its users, and a mail that tells whether it can send any.
import { type MailDocument, mails } from '../../readmodels/mails.ts';
import { openMailer } from '../../service/open-mailer.ts';
import { sendTestMail } from '../../service/test-mail.ts';
import { readConfig } from '../../settings/config.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, printable, UsageError } from './command.ts';
import { liveReading, openDocumentsToRead } from './open-documents.ts';

const STATES = ['due', 'sent', 'dropped'] as const;
const SHOWN = 1_000;
const LATE_MS = 2 * 3_600_000;

export const mailsList: Command = {
  summary: 'print the mails that are owed, the oldest first, and how many were sent and dropped',
  options: { dropped: { type: 'boolean', means: 'print those that were dropped' } },
  async run(run) {
    await using documents = closing(await openDocumentsToRead(run));
    const reading = await liveReading(documents, mails);
    const counts = await Promise.all(STATES.map((status) => reading.count({ status })));
    const status = run.values.dropped ? 'dropped' : 'due';
    const found = await reading.find({ status }, { sort: { created_at: 1 }, limit: SHOWN });
    const summary = Object.fromEntries(STATES.map((state, n) => [state, counts[n]!]));
    if (run.json) run.out.write(`${JSON.stringify({ ...summary, mails: found.map(factsOf) })}\n`);
    else {
      for (const mail of found)
        run.out.write(printable(`${mail.created_at}  ${mail._id}  ${mail.kind} to ${mail.user_id}`));
      run.out.write(`${STATES.map((state, n) => `${counts[n]!.toLocaleString('en')} ${state}`).join(', ')}\n`);
    }
    const [oldest] = status === 'due' ? found : [];
    return oldest && Date.now() - Date.parse(oldest.created_at) > LATE_MS ? EXIT.violation : EXIT.clean;
  },
};

const factsOf = ({ _id: mail_id, user_id, kind, status, created_at }: MailDocument) => ({
  ...{ mail_id, user_id, kind, status, created_at },
});

export const mailsSend: Command = {
  arguments: 'ADDRESS',
  summary: 'send a test mail as the service would, and say in words what stands in its way',
  options: {},
  async run(run) {
    const [to] = run.arguments as [string];
    if (!to.includes('@')) throw new UsageError(`${to} is no address`);
    const config = readConfig(run.env);
    await using mailer = closing({ ...(await openMailer(config)) });
    const outcome = await sendTestMail(mailer, to, config);
    run.out.write(run.json ? `${JSON.stringify(outcome)}\n` : printable(outcome.says));
    return outcome.sent ? EXIT.clean : EXIT.violation;
  },
};
