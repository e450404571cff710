// The route that gives a person everything that the service keeps of them, as one JSON file that is read as it is sent.
import type { EventStore } from '../../events/event-store.ts';
import { Type } from '../../events/schema.ts';
import {
  apiKeysStream,
  paymentStream,
  subscriptionStream,
  userStream,
  webhookEndpointsStream,
} from '../../events/streams.ts';
import { testUserOf } from '../../events/test-user.ts';
import { balances, creditLots, transactions } from '../../readmodels/billing/credits.ts';
import { subscriptions } from '../../readmodels/billing/subscriptions.ts';
import { type ReportedEventDocument, reportedEvents } from '../../readmodels/growth/reported-events.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { mails } from '../../readmodels/mails.ts';
import { shares } from '../../readmodels/shares.ts';
import { apiKeys } from '../../readmodels/users/api-keys.ts';
import { sessions } from '../../readmodels/users/sessions.ts';
import { users } from '../../readmodels/users/users.ts';
import { webhookDeliveries, webhookEndpoints } from '../../readmodels/webhooks.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { routeOf } from '../frame/route.ts';
import { Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { jobView } from '../jobs/job-view.ts';
import { attachment } from '../results/export/file-name.ts';

const wire = ({ log, now, read }: Parts) => ({
  ...{ log, now },
  read: read({
    ...{ users, balances, creditLots, transactions, subscriptions, jobs, shares, mails },
    ...{ apiKeys, webhookEndpoints, webhookDeliveries, reportedEvents, sessions },
  }),
});
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'account');

/** Jobs whose shares are read at once. */
const PAGE = 100;

const Anything = Type.Object({}, { additionalProperties: true });
const list = (description: string) => Type.Array(Anything, { description });
/** The lists of the file, in their order. */
const LISTS = {
  credit_lots: list('The grants that the balance consists of, spent ones included.'),
  credit_transactions: list('The ledger.'),
  payments: list('The payments behind the ledger, as the payment provider reported them.'),
  jobs: list('Your jobs with their settings and public links. `/jobs/{job_id}/export` has the results of each.'),
  api_keys: list('Your API keys, revoked ones included, without the keys themselves.'),
  sessions: list('The browsers that are signed in as you.'),
  webhook_endpoints: list('Your webhook endpoints, without their secrets.'),
  webhook_deliveries: list('What the service sent to them, and their answers.'),
  mails: list('The mails about payments, plans, credits and reruns: what each was about, and whether it was sent.'),
  paywall_events: list('What the console reported of you.'),
  history: list('The events that the log keeps of your account, keys, endpoints and subscriptions.'),
};
const empty = Object.fromEntries(Object.keys(LISTS).map((name) => [name, []]));

const everything = route({
  id: 'exportMyData',
  method: 'GET',
  path: '/users/me/export',
  access: 'user',
  heavy: true,
  summary: 'Download all that the service keeps of you',
  description:
    'The service reads the file while it sends it. The limit of signup bonuses keeps only keyed hashes of addresses, which lead back to ' +
    'nobody; they are not in the file.',
  responses: {
    200: {
      description: 'The file.',
      schema: Type.Object({
        exported_at: Time(),
        user_id: Type.String(),
        profile: Type.Object({}, { additionalProperties: true, description: 'Your account, with the fingerprint.' }),
        balance: Type.Object(
          {},
          { additionalProperties: true, description: 'Your credits and the usage of the period.' },
        ),
        subscription: Type.Object({}, { additionalProperties: true, description: 'Your plan and its payments.' }),
        ...LISTS,
      }),
      example: {
        exported_at: '2026-01-31T09:00:00.000Z',
        user_id: 'alice',
        profile: {
          email: 'alice@example.com',
          fingerprint: { os: 'Linux', device_type: 'desktop', screen_size: null },
        },
        balance: { balance: 280 },
        subscription: {},
        ...empty,
      },
      headers: { 'Content-Disposition': 'The name of the file.' },
    },
  },
  async handler({ caller: { user_id }, signal }, deps) {
    const { read, now } = deps;
    const [profile, balance, subscription] = await Promise.all([
      read.users.get(user_id),
      read.balances.get(user_id),
      read.subscriptions.get(user_id),
    ]);
    const of_user = { user_id };
    const of_both = { user_id: { $in: withTests(user_id) } };
    const by_time = { sort: { created_at: 1 } as const, signal };
    return {
      body: {
        exported_at: new Date(now()).toISOString(),
        user_id,
        profile: withoutId(profile),
        balance: withoutId(balance),
        subscription: withoutId(subscription),
        credit_lots: mapped(read.creditLots.stream(of_user, by_time), withoutId),
        credit_transactions: mapped(read.transactions.stream(of_user, { sort: { number: 1 }, signal }), withoutId),
        payments: paymentsOf(user_id, deps, signal),
        jobs: allJobsOf(user_id, deps, signal),
        api_keys: mapped(read.apiKeys.stream(of_user, by_time), ({ _id: id, key_hash: _, ...key }) => ({ id, ...key })),
        sessions: mapped(read.sessions.stream(of_user, by_time), withId),
        webhook_endpoints: mapped(read.webhookEndpoints.stream(of_both, by_time), withId),
        webhook_deliveries: deliveriesOf(user_id, deps, signal),
        mails: mapped(read.mails.stream(of_user, by_time), withId),
        paywall_events: mapped(read.reportedEvents.stream(of_user, { sort: { received_at: 1 }, signal }), paywallEvent),
        history: historyOf(user_id, deps.log),
      },
      headers: { 'content-disposition': attachment('url-checker-data.json') },
    };
  },
});

async function* mapped<From, To>(from: AsyncIterable<From>, view: (one: From) => To): AsyncGenerator<To> {
  for await (const one of from) yield view(one);
}

/** The id of these documents is made of other fields, or is the user's. */
function withoutId(document: { _id: string } | null): object {
  const { _id, ...rest } = document ?? { _id: '' };
  return rest;
}
const withId = ({ _id: id, ...rest }: { _id: string }): object => ({ id, ...rest });

function paywallEvent({ _id: id, event, properties, received_at }: ReportedEventDocument): object {
  return { id, event, properties: JSON.parse(properties), received_at };
}

/** The user, and the one as whom the test keys ask. */
const withTests = (user_id: string) => [user_id, testUserOf(user_id)];

async function* allJobsOf(user_id: string, deps: Deps, signal: AbortSignal): AsyncGenerator<object> {
  for (const owner_id of withTests(user_id)) yield* jobsOf(owner_id, deps, signal);
}

async function* jobsOf(owner_id: string, { read }: Deps, signal: AbortSignal): AsyncGenerator<object> {
  let page: JobDocument[] = [];
  const withShares = async function* () {
    const job_ids = page.map(({ _id }) => _id);
    const found = job_ids.length === 0 ? [] : await Array.fromAsync(read.shares.stream({ job_id: { $in: job_ids } }));
    for (const job of page) {
      const { owner_email, filename } = job;
      const own = found.filter(({ job_id }) => job_id === job._id).map(withId);
      yield { ...jobView(job), owner_email, filename, shares: own };
    }
    page = [];
  };
  for await (const job of read.jobs.stream({ owner_id }, { sort: { created_at: 1 }, signal })) {
    if (page.push(job) === PAGE) yield* withShares();
  }
  yield* withShares();
}

async function* deliveriesOf(user_id: string, { read }: Deps, signal: AbortSignal): AsyncGenerator<object> {
  for await (const { _id: endpoint_id } of read.webhookEndpoints.stream(
    { user_id: { $in: withTests(user_id) } },
    { signal },
  )) {
    const options = { sort: { created_at: 1 } as const, signal };
    yield* mapped(read.webhookDeliveries.stream({ endpoint_id }, options), withId);
  }
}

const PAID: readonly string[] = ['purchase', 'subscription'];

async function* paymentsOf(user_id: string, { read, log }: Deps, signal: AbortSignal): AsyncGenerator<object> {
  for await (const lot of read.creditLots.stream({ user_id }, { sort: { created_at: 1 }, signal })) {
    if (!PAID.includes(lot.transaction_type)) continue;
    const payment_id = lot.lot_id.slice(lot.lot_id.indexOf(':') + 1);
    for await (const event of eventsOf(paymentStream(payment_id), log)) yield { payment_id, ...event };
  }
}

async function* historyOf(user_id: string, log: EventStore): AsyncGenerator<object> {
  const streams = [userStream, apiKeysStream, webhookEndpointsStream, subscriptionStream];
  for (const streamOf of streams) yield* eventsOf(streamOf(user_id), log);
  yield* eventsOf(webhookEndpointsStream(testUserOf(user_id)), log);
}

async function* eventsOf(stream: string, log: EventStore): AsyncGenerator<object> {
  for await (const { type, data, metadata } of log.readStream(stream)) {
    const { key_hash: _, ...facts } = data as { key_hash?: string };
    yield { type, at: metadata.at, ...facts };
  }
}

export const group = groupOf(wire, [everything]);
