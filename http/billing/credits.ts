// The gateway's routes for the credits of a user.
import { TRANSACTION_TYPES, TRANSACTIONS } from '../../events/credits.ts';
import { Nullable, Type } from '../../events/schema.ts';
import {
  balanceOf,
  balances,
  creditLots,
  transactions as entries,
  type LotDocument,
  type TransactionDocument,
} from '../../readmodels/billing/credits.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { routeOf } from '../frame/route.ts';
import { Count, listOf, listReply, pick, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ read }: Parts) => ({ read: read({ balances, lots: creditLots, transactions: entries }) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'account');

export const Credits = Type.Object({
  credit_balance: Count('Credits that you can spend now.'),
  available_credits: Count('The same number.'),
});

const meanings = TRANSACTION_TYPES.map((type) => `\`${type}\`: ${TRANSACTIONS[type].meaning}`);

const TransactionTypes = Type.Enum(TRANSACTION_TYPES, {
  $id: 'CreditTransactionType',
  description: `${meanings.join('; ')}.`,
});

export const Transaction = Type.Object(
  {
    transaction_id: Type.String(),
    transaction_type: TransactionTypes,
    amount: Type.Integer({ description: 'Positive when it adds credits, negative when it takes them.' }),
    reference_id: Type.String({ description: 'The cause of the transaction, such as the id of the job.' }),
    balance_after: Type.Integer({ minimum: 0 }),
    created_at: Time(),
  },
  { $id: 'CreditTransaction' },
);

export const transactionExample = {
  ...{ transaction_id: 'signup_bonus:alice', transaction_type: 'signup_bonus', amount: 300, reference_id: 'alice' },
  ...{ balance_after: 300, created_at: '2026-01-31T09:00:00.000Z' },
};

const Lot = Type.Object(
  {
    lot_id: Type.String({ description: 'The id of the transaction that brought the credits.' }),
    transaction_type: TransactionTypes,
    credits: Count('Credits that it had at first.'),
    remaining: Count('Credits that are left.'),
    expires_at: Nullable(Time('When the rest expires. Null: never.')),
    created_at: Time(),
  },
  { $id: 'CreditLot' },
);
const LOT_FIELDS = ['lot_id', 'transaction_type', 'credits', 'remaining', 'expires_at', 'created_at'] as const;
/** The most lots in an answer. */
const MAX_LOTS = 1000;

/** In order of spending: by expiry, those that never expire last. */
const inOrder = (lots: readonly LotDocument[]) =>
  lots.toSorted((a, b) => ((a.expires_at ?? '~') < (b.expires_at ?? '~') ? -1 : 1));

const balance = route({
  id: 'getCredits',
  method: 'GET',
  path: '/users/me/credits',
  access: 'user',
  summary: 'Show your credits',
  responses: {
    200: {
      description: 'The balance, and the grants that it consists of.',
      schema: Type.Object({
        ...Credits.properties,
        lots: Type.Array(Lot, {
          description: `The grants with credits left, at most ${MAX_LOTS.toLocaleString('en')}, in the order in which jobs spend them.`,
        }),
      }),
      example: {
        credit_balance: 300,
        available_credits: 300,
        lots: [
          {
            ...{ lot_id: 'signup_bonus:alice', transaction_type: 'signup_bonus', credits: 300, remaining: 300 },
            ...{ expires_at: null, created_at: '2026-01-31T09:00:00.000Z' },
          },
        ],
      },
    },
  },
  async handler({ caller }, { read }) {
    const { user_id } = caller;
    const [credit_balance, lots] = await Promise.all([
      balanceOf(read.balances, user_id),
      read.lots.find({ user_id, remaining: { $gt: 0 } }, { sort: { created_at: 1 }, limit: MAX_LOTS }),
    ]);
    const views = inOrder(lots).map((lot) => pick(lot, LOT_FIELDS));
    return { body: { credit_balance, available_credits: credit_balance, lots: views } };
  },
});

const transactions = route({
  id: 'listCreditTransactions',
  method: 'GET',
  path: '/users/me/credit-transactions',
  access: 'user',
  summary: 'List your credit transactions, the newest first',
  query: Type.Object({
    ...paging(20),
    transaction_type: Type.Optional(
      Type.Enum(TRANSACTION_TYPES, { description: 'Transactions of this type only.', examples: ['refund'] }),
    ),
  }),
  responses: {
    200: listOf('A page of transactions.', Transaction, transactionExample, 20),
  },
  async handler({ caller, query }, { read }) {
    const { transaction_type } = query;
    const where = { user_id: caller.user_id, ...(transaction_type && { transaction_type }) };
    const page = await pageOf(read.transactions, where, { number: -1 }, query);
    return listReply(page, transactionView, query);
  },
});

export function transactionView({ _id, user_id: _user, number: _number, ...view }: TransactionDocument) {
  return view;
}

export const group = groupOf(wire, [balance, transactions]);
