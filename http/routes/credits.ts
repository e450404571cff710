// The gateway's routes for the credits of a user.
import { TRANSACTION_TYPES, type TransactionType } from '../../events/credits.ts';
import { Type } from '../../events/schema.ts';
import { balanceOf, balances, transactions as entries, type TransactionDocument } from '../../readmodels/credits.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { groupOf, type Parts } from '../group.ts';
import { listOf, listReply } from '../list-replies.ts';
import { paging } from '../result-view.ts';
import { routeOf } from '../route.ts';
import { Count, Time } from '../schemas.ts';

const wire = ({ read }: Parts) => ({ read: read({ balances, transactions: entries }) });
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY);
const tags = ['account'];

export const Credits = Type.Object({
  credit_balance: Count('Credits that you can spend now.'),
  available_credits: Count('The same number.'),
});

const MEANINGS: Record<TransactionType, string> = {
  signup_bonus: 'credits of a new account',
  purchase: 'bought credits',
  subscription: 'credits of a plan for one period',
  trial: 'credits to try a plan',
  reservation: 'credits reserved for a job',
  refund: 'reserved credits that an ended job did not use',
  release: 'reserved credits of a job that was never created or resumed',
  adjustment: 'a correction by an administrator',
  expiry: 'credits past their last day',
  reversal: 'credits taken back because their payment was refunded or disputed',
  restoration: 'credits given back because the refund failed or the dispute was won',
  recovery: 'credits that pay off credits owed',
};
const meanings = Object.entries(MEANINGS).map(([type, meaning]) => `\`${type}\`: ${meaning}`);

const Transaction = Type.Object(
  {
    transaction_id: Type.String(),
    transaction_type: Type.Enum(TRANSACTION_TYPES, { description: `${meanings.join('; ')}.` }),
    amount: Type.Integer({ description: 'Positive when it adds credits, negative when it takes them.' }),
    reference_id: Type.String({ description: 'The cause of the transaction, such as the id of the job.' }),
    balance_after: Type.Integer({ minimum: 0 }),
    created_at: Time(),
  },
  { $id: 'CreditTransaction' },
);

export const balance = route({
  id: 'getCredits',
  method: 'GET',
  path: '/users/me/credits',
  access: 'user',
  summary: 'Show your credits',
  tags,
  responses: {
    200: {
      description: 'The balance.',
      schema: Credits,
      example: { credit_balance: 300, available_credits: 300 },
    },
  },
  async handler({ caller }, { read }) {
    const credit_balance = await balanceOf(read.balances, caller.user_id);
    return { body: { credit_balance, available_credits: credit_balance } };
  },
});

export const transactions = route({
  id: 'listCreditTransactions',
  method: 'GET',
  path: '/users/me/credit-transactions',
  access: 'user',
  summary: 'List your credit transactions, the newest first',
  tags,
  query: Type.Object(paging(20)),
  responses: {
    200: listOf(
      'A page of transactions.',
      Transaction,
      {
        transaction_id: 'signup_bonus:alice',
        transaction_type: 'signup_bonus',
        amount: 300,
        reference_id: 'alice',
        balance_after: 300,
        created_at: '2026-01-31T09:00:00.000Z',
      },
      20,
    ),
  },
  async handler({ caller, query }, { read }) {
    const page = await pageOf(read.transactions, { user_id: caller.user_id }, { number: -1 }, query);
    return listReply(page, transactionView, query);
  },
});

function transactionView({ _id, user_id: _user, number: _number, ...view }: TransactionDocument) {
  return view;
}

export const group = groupOf(wire, [balance, transactions]);
