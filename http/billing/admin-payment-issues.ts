// The administrators' list of what a person has to decide about money.
import { openPaymentIssues } from '../../commands/billing/payment-issue.ts';
import { ISSUE_REASONS, type IssueReason } from '../../events/payment-issue.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { type PaymentIssueDocument, paymentIssues } from '../../readmodels/billing/payment-issues.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { accepted } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { anError, routeOf } from '../frame/route.ts';
import { listOf, listReply, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ read, log }: Parts) => ({ read: read({ paymentIssues }), issues: openPaymentIssues(log) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const REASONS = Object.keys(ISSUE_REASONS) as IssueReason[];
const STATUSES = ['open', 'resolved'] as const;

const IssueView = Type.Object(
  {
    issue_id: Type.String(),
    reason: Type.Enum(REASONS, {
      $id: 'PaymentIssueReason',
      description: REASONS.map((reason) => `\`${reason}\`: ${ISSUE_REASONS[reason]}.`).join(' '),
    }),
    subject: Type.String({ description: "The provider's id of the payment, subscription, refund or event." }),
    user_id: Nullable(Type.String()),
    amount_cents: Nullable(Type.Integer({ description: 'In the smallest unit of the currency.' })),
    currency: Nullable(Type.String({ description: 'ISO 4217, in lower case.' })),
    status: Type.Enum(STATUSES),
    raised_at: Time(),
    resolved_at: Nullable(Time()),
    resolved_by: Nullable(Type.String({ description: 'The administrator.' })),
    note: Nullable(Type.String({ description: 'What was done.' })),
  },
  { $id: 'PaymentIssue' },
);
const example = {
  ...{ issue_id: '0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f', reason: 'second_plan', subject: 'sub_1PqQ2r', user_id: 'alice' },
  ...{ amount_cents: 2900, currency: 'usd', status: 'open', raised_at: '2026-01-31T09:00:00.000Z' },
  ...{ resolved_at: null, resolved_by: null, note: null },
};
const view = ({ _id: issue_id, ...issue }: PaymentIssueDocument) => ({ issue_id, ...issue });

const list = route({
  id: 'listPaymentIssues',
  method: 'GET',
  path: '/admin/payment-issues',
  access: 'admin',
  summary: 'List what a person has to decide about money, the newest first',
  query: Type.Object({
    ...paging(25),
    status: Type.Optional(Type.Enum(STATUSES, { description: 'Only these. Default: all.', examples: ['open'] })),
  }),
  responses: { 200: listOf('A page of issues.', IssueView, example, 25) },
  async handler({ query }, { read }) {
    const filter = query.status === undefined ? {} : { status: query.status };
    return listReply(await pageOf(read.paymentIssues, filter, { raised_at: -1 }, query), view, query);
  },
});

const resolve = route({
  id: 'resolvePaymentIssue',
  method: 'POST',
  path: '/admin/payment-issues/{issue_id}/resolve',
  access: 'admin',
  summary: 'Say that an issue is decided',
  params: Type.Object({
    issue_id: Type.String({
      description: 'The id of the issue, as the list has it.',
      minLength: 1,
      maxLength: 64,
      examples: [example.issue_id],
    }),
  }),
  body: jsonBody(
    Type.Object({
      note: Type.String({ maxLength: 500, description: 'What was done. Write nothing personal: the log keeps it.' }),
    }),
    { example: { note: 'Refunded the second plan at the provider.' } },
  ),
  responses: { 204: { description: 'The issue is resolved.' } },
  errors: { 404: anError('There is no such issue.', 'issue_not_found', 'There is no such issue.') },
  async handler({ params, body, command }, { issues }) {
    const { position } = accepted(await issues.resolve(params.issue_id, body.note, command()), 404);
    return { status: 204, position };
  },
});

export const group = groupOf(wire, [list, resolve]);
