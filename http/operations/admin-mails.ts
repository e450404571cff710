// The administrators' list of the mails that the service owes its users, and of what became of the others.
import { MAIL_KINDS } from '../../events/mail.ts';
import { Type } from '../../events/schema.ts';
import { type MailDocument, mails } from '../../readmodels/mails.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { listOf, listReply } from '../frame/list-replies.ts';
import { routeOf } from '../frame/route.ts';
import { Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ read }: Parts) => ({ read: read({ mails }) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

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

export const group = groupOf(wire, [list]);
