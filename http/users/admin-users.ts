// The administrators' routes that show users: the list of them, and one with what happened last.
import { Nullable, Type } from '../../events/schema.ts';
import { subscriptionAt } from '../../events/subscription-state.ts';
import { balances, transactions } from '../../readmodels/billing/credits.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST } from '../../readmodels/pages.ts';
import { auditTrail, trailPage } from '../../readmodels/users/audit-trail.ts';
import { searchBlocks, userCounts, userList } from '../../readmodels/users/user-list.ts';
import { ACTIVE_DAYS, MAX_FOUND, USER_FILTERS, USER_SORTS, usersPage } from '../../readmodels/users/user-pages.ts';
import { users } from '../../readmodels/users/users.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { Transaction, transactionExample, transactionView } from '../billing/credits.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, routeOf } from '../frame/route.ts';
import { Count } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { JobView, jobExample, jobView } from '../jobs/job-view.ts';
import { paging } from '../results/result-view.ts';
import {
  OtherSubscriptions,
  otherSubscriptions,
  SubscriptionView,
  subscriptionExample,
  subscriptionView,
  UsageView,
  usageExample,
  usageView,
} from './profile-view.ts';
import { AuditEntry, auditExample, auditView, UserRow, userExample, userRow } from './user-view.ts';

const wire = ({ read, now }: Parts) => ({
  now,
  read: read({ userList, searchBlocks, userCounts, users, balances, transactions, jobs, auditTrail }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

export const params = Type.Object({
  user_id: Type.String({ minLength: 1, maxLength: 255, description: "The user's id.", examples: ['alice'] }),
});
const yesOrNo = (value: boolean, description: string) => Type.Boolean({ default: value, description });

export const listUsers = route({
  id: 'listUsers',
  method: 'GET',
  path: '/admin/users',
  access: 'admin',
  summary: 'List, filter and search users',
  query: Type.Object({
    ...paging(20),
    search: Type.String({
      maxLength: 200,
      default: '',
      description: `A part of the id, the address or the name, in any case, with or without accents. It finds the ${MAX_FOUND.toLocaleString('en')} newest users that have it.`,
      examples: ['alice@'],
    }),
    filter_type: Type.Enum(USER_FILTERS, {
      type: 'string',
      default: 'all',
      description:
        `\`paying\`: has a paid plan today (UTC), \`trial\`: tries one, \`free\`: neither; \`active\`: created a job within ${ACTIVE_DAYS} ` +
        'days, today included, `inactive`: did not; `flagged`: has `flags`.',
    }),
    hide_deleted: yesOrNo(true, 'Leaves out users whose erasure was asked for.'),
    hide_admin: yesOrNo(true, 'Leaves out administrators.'),
    only_starred: yesOrNo(false, 'Only starred users.'),
    sort_by: Type.Enum(USER_SORTS, {
      type: 'string',
      default: 'pinned',
      description: '`pinned`: starred users first in either order, then by registration.',
    }),
    sort_order: Type.Enum(['asc', 'desc'], {
      type: 'string',
      default: 'desc',
      description:
        'Ascending or descending. Users without a job or an address are first in ascending order of these, and last in descending.',
    }),
  }),
  responses: {
    200: {
      description: 'A page of users.',
      schema: Type.Object({
        items: Type.Array(UserRow),
        total: Count('The users on all pages.'),
        is_cut: Type.Boolean({ description: 'More users match the search than it finds: narrow it.' }),
        limit: Type.Integer(),
        offset: Type.Integer(),
      }),
      example: { items: [userExample], total: 1, is_cut: false, limit: 20, offset: 0 },
    },
  },
  async handler({ query }, { read, now }) {
    const time = now();
    const { items, total, is_cut } = await usersPage(read, query, time);
    const { limit, offset } = query;
    return { body: { items: items.map((user) => userRow(user, time)), total, is_cut, limit, offset } };
  },
});

const NO_USER = 'There is no such user.';
export const notFound = anError('There is no such user.', 'user_not_found', NO_USER);

/** Transactions, jobs and entries of the trail beside a user. */
const TAIL = 20;
const tail = (description: string) => ({ description: `${description}, the newest first, at most ${TAIL}.` });

export const getUser = route({
  id: 'getUser',
  method: 'GET',
  path: '/admin/users/{user_id}',
  access: 'admin',
  params,
  summary: 'Show a user: profile, plan, balance, and what happened last',
  responses: {
    200: {
      description: 'The user. Of an erased one the personal fields are null, and the ledger stays.',
      schema: Type.Object({
        ...UserRow.properties,
        notes: Nullable(Type.String({ description: 'What administrators wrote of the user.' })),
        signup_bonus: Type.Enum(['pending', 'granted', 'withheld'], { description: 'The credits of a new account.' }),
        subscription: Nullable(SubscriptionView),
        other_subscriptions: OtherSubscriptions,
        usage: UsageView,
        transactions: Type.Array(Transaction, tail('The end of the ledger')),
        jobs: Type.Array(JobView, tail('Jobs that are not deleted')),
        audit_trail: Type.Array(AuditEntry, tail('What administrators did to the user')),
      }),
      example: {
        ...{ ...userExample, notes: 'Asked for an invoice in euro.', signup_bonus: 'granted' },
        ...{
          subscription: subscriptionExample,
          other_subscriptions: [],
          usage: usageExample,
          transactions: [transactionExample],
        },
        ...{ jobs: [jobExample], audit_trail: [auditExample] },
      },
    },
  },
  errors: { 404: notFound },
  async handler({ params: { user_id } }, { read, now }) {
    const time = now();
    const [listed, user, balance, ledger, recent, trail] = await Promise.all([
      read.userList.get(user_id),
      read.users.get(user_id),
      read.balances.get(user_id),
      read.transactions.find({ user_id }, { sort: { number: -1 }, limit: TAIL }),
      read.jobs.find({ owner_id: user_id }, { sort: NEWEST_FIRST, limit: TAIL }),
      trailPage(read.auditTrail, { user_id }, { limit: TAIL, offset: 0 }),
    ]);
    if (!listed?.is_listed) throw new HttpError(404, 'user_not_found', NO_USER);
    return {
      body: {
        ...userRow(listed, time),
        ...{ notes: user?.notes ?? null, signup_bonus: user?.bonus.status ?? 'pending' },
        subscription: subscriptionView(subscriptionAt(listed.subscription, time)),
        other_subscriptions: otherSubscriptions(listed.subscription, time),
        usage: usageView(balance, user, time),
        transactions: ledger.map(transactionView),
        jobs: recent.map(jobView),
        audit_trail: trail.items.map(auditView),
      },
    };
  },
});

export const group = groupOf(wire, [listUsers, getUser]);
