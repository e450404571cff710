// The administrators' routes for mails: those that the service owes its users, what became of the others, and a test mail.
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIL_KINDS } from '../../events/mail.ts';
import { inWords, Type } from '../../events/schema.ts';
import { type MailDocument, mails } from '../../readmodels/mails.ts';
import type { MailTestOutcome } from '../../readmodels/operations/mail-tests.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { listOf, listReply, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ read, mail_tests, closing }: Parts) => ({ read: read({ mails }), tests: mail_tests, closing });
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'administration');

const STATUSES = ['due', 'sent', 'dropped'] as const;

const MailView = Type.Object(
  {
    mail_id: Type.String(),
    user_id: Type.String(),
    kind: Type.Enum(MAIL_KINDS, { description: 'What it is about.' }),
    status: Type.Enum(STATUSES, {
      description: '`due`: it is tried until the server takes it. `dropped`: nobody can receive it.',
    }),
    created_at: Time('The time of the event that it is about.'),
  },
  { $id: 'OwedMail' },
);
const example = {
  ...{ mail_id: '5b1c2f3a-7d21-5f0e-9a34-2f1c9f2e5d0c', user_id: 'alice', kind: MAIL_KINDS[0] },
  ...{ status: 'due', created_at: '2026-01-31T09:00:00.000Z' },
};
const view = ({ _id: mail_id, user_id, kind, status, created_at }: MailDocument) => ({
  ...{ mail_id, user_id, kind, status, created_at },
});

const list = route({
  id: 'listMails',
  method: 'GET',
  path: '/admin/mails',
  access: 'admin',
  summary: 'List the mails that are owed, sent or dropped, the oldest first',
  description: 'Addresses and texts are left out. `mail` of `GET /admin/services` has what the mail server said last.',
  query: Type.Object({
    ...paging(25),
    status: Type.Optional(Type.Enum(STATUSES, { description: 'Only these. Default: `due`.', examples: ['due'] })),
  }),
  responses: { 200: listOf('A page of mails.', MailView, example, 25) },
  async handler({ query }, { read }) {
    const { status = 'due' } = query;
    return listReply(await pageOf(read.mails, { status }, { created_at: 1 }, query), view, query);
  },
});

/** A process looks for requests each second, and a mail server gets 30 s. */
const TAKEN_WITHIN_MS = 5_000;
const SENT_WITHIN_MS = 40_000;
const LOOK_MS = 200;
const NOBODY =
  'No process with the role `processes` has taken the request: start one, or look at Services for why it waits.';
const SILENT = 'The process that took the request has not said what came of it. Look at its log, and ask again.';

const test = route({
  id: 'sendTestMail',
  method: 'POST',
  path: '/admin/mails/test',
  access: 'admin',
  summary: 'Send a test mail, and say in words what stands in its way',
  description:
    'A process with the role `processes` sends it by its own `SMTP_URL` and `MAIL_FROM`, as it sends all mails. The answer comes when the mail ' +
    'server has answered, after 40 s at the latest.',
  body: jsonBody(
    Type.Object({
      to: Type.String({
        minLength: 3,
        maxLength: 320,
        pattern: inWords('^[^\\s@]+@[^\\s@]+$', 'must be an e-mail address'),
        description: 'The address that gets the mail.',
      }),
    }),
    { example: { to: 'operator@example.com' } },
  ),
  responses: {
    200: {
      description: 'Whether the mail server took the mail, and what to correct where it did not.',
      schema: Type.Object({ sent: Type.Boolean(), says: Type.String({ description: 'A sentence for operators.' }) }),
      example: {
        sent: false,
        says: 'mail.example.com:587 refuses the user or the password of SMTP_URL. Correct them; %-encode what is no letter or digit.',
      },
    },
  },
  async handler({ body }, deps) {
    const id = await deps.tests.ask(body.to);
    try {
      return { body: await outcomeOf(id, deps) };
    } finally {
      await deps.tests.remove(id);
    }
  },
});

async function outcomeOf(id: string, { tests, closing }: Deps): Promise<MailTestOutcome> {
  const asked_at = performance.now();
  for (;;) {
    const { is_taken, outcome } = await tests.read(id);
    if (outcome !== null) return outcome;
    const waited_ms = performance.now() - asked_at;
    if (closing.aborted || waited_ms > (is_taken ? SENT_WITHIN_MS : TAKEN_WITHIN_MS))
      return { sent: false, says: is_taken ? SILENT : NOBODY };
    await sleep(LOOK_MS, undefined, { signal: closing }).catch(() => {});
  }
}

export const group = groupOf(wire, [list, test]);
