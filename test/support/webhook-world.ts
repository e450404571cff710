// The processes of webhooks over stores of a test's own: the clock, the receivers and the mail server are in its hand.

import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { metadataOf } from '../../commands/aggregate.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import { openWebhookDeliveries } from '../../commands/webhook-delivery.ts';
import { openWebhookEndpoints, signingSecret, type WebhookEndpointsCommand } from '../../commands/webhook-endpoints.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { JobEvent } from '../../events/job.ts';
import { jobStream, userStream } from '../../events/streams.ts';
import type { WebhookEventType } from '../../events/webhook.ts';
import type { Mail, Mailer } from '../../processes/mail.ts';
import { WebhookDispatcher } from '../../processes/webhook-deliveries.ts';
import { webhookEndpointCare } from '../../processes/webhook-endpoints.ts';
import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../../processes/webhook-sender.ts';
import { runProjector } from '../../projections/projector/projector.ts';
import { webhooksProjection } from '../../projections/webhooks.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { webhookDeliveries, webhookEndpoints } from '../../readmodels/webhooks.ts';
import { openLeases } from '../../roles/leases.ts';
import { passesOf } from './manager-pass.ts';
import { commandContext, openTestStores, silent } from './stores.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const SIGNING_KEY = Buffer.from('the key of tests');

/** What a receiver answers; `undefined` is 200. */
export type Receiver = (
  request: WebhookRequest,
) => Partial<WebhookAnswer> | Promise<Partial<WebhookAnswer>> | undefined;

const ANSWER: WebhookAnswer = { status_code: 200, error: null, response_excerpt: '', retry_after_ms: null };

export async function openWebhookWorld(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const ended = new AbortController();
  const projecting = runProjector({
    ...stores,
    projections: [webhooksProjection],
    log_id: () => identifyLog(log, 'process:test', Date.now()),
    leases: await openLeases(documents),
    logger: silent,
    signal: ended.signal,
  });
  t.teardown(async () => {
    ended.abort();
    await projecting;
  });
  const readmodels = openReadModels(documents);
  const endpoints = openWebhookEndpoints(log);
  const clock = { now: Date.parse('2026-01-31T09:00:00.000Z') };
  const sent: WebhookRequest[] = [];
  const receivers = new Map<string, Receiver>();
  const mails: Mail[] = [];
  const post: { answer: (mail: Mail) => string | null } = { answer: () => null };
  const mailer: Mailer = {
    erase: async () => {},
    async send(mail) {
      const answer = post.answer(mail);
      mails.push(mail);
      return answer;
    },
    close() {},
  };
  const sender: WebhookSender = {
    async send(request) {
      sent.push(request);
      return { ...ANSWER, ...(await receivers.get(request.url)?.(request)) };
    },
    close() {},
  };
  const context = () => commandContext(clock.now);
  const caughtUp = async () => t.true(await readmodels.passed(await log.head(), 20_000), 'the projector stands still');

  /** As after a start: what it knows, it has from the stores. */
  function openProcess(of: EventStore = log) {
    const commands = { endpoints: openWebhookEndpoints(of), deliveries: openWebhookDeliveries(of) };
    const common = { readmodels, ...commands, context };
    const failures: string[] = [];
    const note = ({ err }: { err: Error }) => void failures.push(err.message);
    const caring = passesOf(webhookEndpointCare({ log: of, mailer, ...common }), readmodels, {
      ...{ logger: { error: note, warn: note } as never, now: () => clock.now, monotonic: () => clock.now },
    });
    const dispatcher = new WebhookDispatcher({
      ...common,
      sender,
      signing_key: SIGNING_KEY,
      now: () => clock.now,
      random: () => 0.5,
    });
    return {
      dispatcher,
      /** Sends all that is due, and sees that it is known. */
      async send() {
        await caughtUp();
        await dispatcher.pass();
        await dispatcher.settled();
        await caughtUp();
      },
      /** Returns the messages of what failed. */
      async tend(): Promise<string[]> {
        await caughtUp();
        await caring.pass();
        await caughtUp();
        return failures.splice(0);
      },
    };
  }

  return {
    log,
    readmodels,
    clock,
    sent,
    receivers,
    mails,
    post,
    context,
    caughtUp,
    openProcess,
    deliveries: openWebhookDeliveries(log),
    /** Its id. */
    async endpoint(url: string, { user_id = 'alice', events = [] as WebhookEventType[] } = {}): Promise<string> {
      const endpoint_id = randomUUID();
      const endpoint = { endpoint_id, user_id, url, events };
      t.true((await endpoints.run(user_id, { type: 'create', endpoint }, context())).ok);
      return endpoint_id;
    },
    async remove(endpoint_id: string, user_id = 'alice') {
      t.true((await endpoints.run(user_id, { type: 'delete', endpoint_id }, context())).ok);
    },
    async user(user_id: string, email: string | null) {
      const metadata = metadataOf(context());
      const event = { id: randomUUID(), type: 'UserRegistered', data: { user_id, email }, metadata };
      await log.append(userStream(user_id), 'no_stream', [event]);
    },
    /** The id of a job that has just been completed. */
    async completedJob(owner_id = 'alice'): Promise<string> {
      const job_id = randomUUID();
      const metadata = metadataOf(context());
      const data = { completed_urls: 3, broken_urls: 1, owner_id };
      await log.append(jobStream(job_id), 'no_stream', [{ id: randomUUID(), type: 'JobCompleted', data, metadata }]);
      return job_id;
    },
    /** Appends an event of a job; returns the job's id. */
    async jobEvent({ type, data }: JobEvent, job_id: string = randomUUID()): Promise<string> {
      const read = await Array.fromAsync(log.readStream(jobStream(job_id)));
      const event = { id: randomUUID(), type, data, metadata: metadataOf(context()) };
      await log.append(jobStream(job_id), read.at(-1)?.revision ?? 'no_stream', [event]);
      return job_id;
    },
    /** Runs a command on an endpoint of alice. */
    async change(command: WebhookEndpointsCommand) {
      const done = await endpoints.run('alice', command, context());
      t.true(done.ok);
      await caughtUp();
    },
    endpointOf: (endpoint_id: string) => readmodels.collection(webhookEndpoints).get(endpoint_id),
    /** In order of their jobs' completion. */
    deliveriesOf: (endpoint_id: string) =>
      readmodels.collection(webhookDeliveries).find({ endpoint_id }, { sort: { created_at: 1 } }),
    secretOf: (endpoint_id: string, number = 1) => signingSecret(SIGNING_KEY, endpoint_id, number),
  };
}
