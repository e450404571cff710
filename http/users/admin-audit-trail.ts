// The trail of what administrators did, for administrators.
import { Type } from '../../events/schema.ts';
import { auditTrail, trailPage } from '../../readmodels/users/audit-trail.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { routeOf } from '../frame/route.ts';
import { listOf, listReply } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
import { AuditAction, AuditEntry, auditExample, auditView } from './user-view.ts';

const wire = ({ read }: Parts) => ({ read: read({ auditTrail }) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const Id = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 255, description, examples: ['root'] }));
const Moment = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description, examples: ['2026-01-31T00:00:00Z'] }));

export const listAuditTrail = route({
  id: 'listAuditTrail',
  method: 'GET',
  path: '/admin/audit-trail',
  access: 'admin',
  summary: 'List what administrators did, the newest first',
  query: Type.Object({
    ...paging(50),
    user_id: Id('About this user.'),
    admin_id: Id('By this administrator.'),
    action: Type.Optional({ ...AuditAction, type: 'string' }),
    ...{ from: Moment('At this time or later.'), to: Moment('Before this time.') },
  }),
  responses: { 200: listOf('A page of the trail.', AuditEntry, auditExample, 50) },
  async handler({ query }, { read }) {
    const { user_id, admin_id: admin, action, from, to } = query;
    const iso = (time: string | undefined) => (time === undefined ? undefined : new Date(time).toISOString());
    const asked = { user_id, admin, action: action as string | undefined, from: iso(from), to: iso(to) };
    return listReply(await trailPage(read.auditTrail, asked, query), auditView, query);
  },
});

export const group = groupOf(wire, [listAuditTrail]);
