// Clients that do at random what clients do, in both APIs, and remember what they were told.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { type Answer, openTestClient, type TestClient } from '../support/service.ts';
import { commandContext } from '../support/stores.ts';
import { fairNow, passed } from './fair-clock.ts';
import type { Random } from './random.ts';
import type { Shape } from './shapes.ts';
import { GONE, type Target } from './target.ts';

/** A store that is away is a 503 within 20 s, and a stopped process or server stands still for 12 s. */
const PATIENCE_MS = 35_000;
const REPEAT_MS = 1000;
/** By the fair clock; a claim lasts for a minute at the most. */
const INSISTENCE_MS = 90_000;
const MAX_URLS = 250;
const GRANT = 2000;

export interface Submitted {
  owner_id: string;
  /** In each of its URLs. */
  tag: string;
  urls: readonly string[];
  key: string | null;
  /** Of every answer of success; more than one id is a fault. */
  job_ids: Set<string>;
  /** Whether its client knows what became of it. */
  is_settled: boolean;
  deleted: boolean;
  /** When nothing was to be asked any more, and from when on that may be over, by the fair clock. */
  stops: { from: number; to: number; by: string }[];
}

export interface Client {
  user_id: string;
  submitted: Submitted[];
  endpoints: Map<string, string>;
  /** Acts until the time is up. */
  run(for_ms: number): Promise<void>;
  /** Sends again what has no answer yet, and resumes what its owner has paused. */
  finish(): Promise<void>;
  gateway: TestClient;
}

export interface Watch {
  /** A request was answered as none may be. */
  violated(what: string): void;
  /** What is wrong with the service now. */
  current(): string;
  count(what: string): void;
}

export async function openClient(
  shape: Shape,
  target: Target,
  random: Random,
  user: { user_id: string; token: string },
  log: EventStore,
  watch: Watch,
): Promise<Client> {
  const { user_id } = user;
  const gateway = openTestClient(shape.url, user.token);
  const submitted: Submitted[] = [];
  const endpoints = new Map<string, string>();
  let number = 0;

  /** Null where no answer came. Whatever fails, it is one of the answers that a client is promised. */
  async function answered(what: string, asking: Promise<Answer>, right: readonly number[]): Promise<Answer | null> {
    watch.count('requests');
    const late = Symbol('late');
    const answer = await Promise.race([asking, passed(PATIENCE_MS).then(() => late)]).catch((error: Error) => {
      if (error.message.startsWith('an answer that is not as'))
        watch.violated(`${what}: ${error.message.slice(0, 600)}`);
      return null;
    });
    if (typeof answer === 'symbol') {
      watch.violated(`${what}: no answer within ${PATIENCE_MS} ms, with ${watch.current()}`);
      return null;
    }
    if (answer === null || right.includes(answer.status) || answer.status === 503) return answer;
    watch.violated(
      `${what}: answered ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}, with ${watch.current()}`,
    );
    return null;
  }

  async function insist(what: string, ask: () => Promise<Answer>, right: readonly number[]): Promise<Answer> {
    for (const until = fairNow() + INSISTENCE_MS; fairNow() < until; ) {
      const answer = await answered(what, ask(), right);
      if (answer && right.includes(answer.status)) return answer;
      await sleep(REPEAT_MS);
    }
    throw new Error(`${what} was not done within ${INSISTENCE_MS} ms`);
  }

  const made = await insist(
    'POST /users/me/api-keys',
    () => gateway.ask('POST', '/users/me/api-keys', { name: 't' }),
    [201],
  );
  const v2 = openTestClient(shape.url, made.body.key, '/api/v2');
  // A key is known as soon as the documents have it.
  await insist('GET /api/v2/usage', () => v2.ask('GET', '/api/v2/usage'), [200]);
  await addEndpoint();

  async function addEndpoint(): Promise<void> {
    const name = `${random.chance(0.2) ? GONE : ''}${user_id}-${randomUUID()}`;
    const body = { url: target.hook(name), events: ['job.completed'] };
    const answer = await answered('POST endpoints', v2.ask('POST', '/api/v2/webhooks/endpoints', body), [201, 409]);
    if (answer?.status === 201) endpoints.set(answer.body.id, name);
  }

  function draft(key: string | null): Submitted {
    const tag = `${user_id}-${number++}`;
    const count = random.chance(0.3) ? random.between(1, 20) : random.between(20, MAX_URLS);
    const urls = target.urls(tag, count, random);
    const one = { owner_id: user_id, tag, urls, key, job_ids: new Set<string>(), deleted: false, stops: [] };
    return { ...one, is_settled: false };
  }

  /** With its idempotency key it may be sent as often as it takes. */
  async function send(one: Submitted): Promise<void> {
    const headers = { 'idempotency-key': one.key! };
    const asking = v2.ask('POST', '/api/v2/jobs', { urls: one.urls }, headers);
    const answer = await answered('POST /api/v2/jobs', asking, [201, 402, 409, 429]);
    if (answer?.status === 201) one.job_ids.add(answer.body.job_id);
    if (answer?.status === 201 || answer?.status === 402) one.is_settled = true;
  }

  async function upload(): Promise<void> {
    const one = draft(null);
    submitted.push(one);
    const answer = await answered('POST /jobs', gateway.upload(one.urls.join('\n')), [201, 429]);
    if (answer?.status === 201) one.job_ids.add(answer.body.job_id);
    one.is_settled = true;
  }

  const anyJob = () => {
    const there = submitted.filter(({ job_ids, deleted }) => job_ids.size > 0 && !deleted);
    const one = there.length === 0 ? null : random.chance(0.6) ? there.at(-1)! : random.pick(there.slice(-6));
    return one && { one, job_id: [...one.job_ids][0]! };
  };

  /** From the answer on nothing new is asked, until a resumption is on its way. */
  async function change(verb: 'pause' | 'resume' | 'cancel'): Promise<void> {
    const chosen = anyJob();
    if (!chosen) return;
    const { one, job_id } = chosen;
    if (verb === 'resume') for (const stop of one.stops) stop.to = Math.min(stop.to, fairNow());
    const asking = gateway.ask('POST', `/jobs/${job_id}/${verb}`);
    const answer = await answered(verb, asking, verb === 'resume' ? [200, 402, 404, 409] : [200, 404, 409]);
    if (answer?.status !== 200) return;
    watch.count(verb);
    if (verb !== 'resume') one.stops.push({ from: fairNow(), to: Number.POSITIVE_INFINITY, by: verb });
  }

  async function remove(): Promise<void> {
    const chosen = anyJob();
    if (!chosen) return;
    const { one, job_id } = chosen;
    // Once it was asked for, it may have happened.
    one.deleted = true;
    const in_bulk = random.chance(0.3);
    const asking = in_bulk
      ? gateway.ask('POST', '/jobs/bulk-delete', { job_ids: [job_id] })
      : gateway.ask('DELETE', `/jobs/${job_id}`);
    const answer = await answered('delete', asking, [200, 404, 409]);
    const is_refused = answer?.status === 409 || (in_bulk && answer?.status === 200 && answer.body.errors.length > 0);
    if (is_refused) one.deleted = false;
    else if (answer?.status === 200) watch.count('delete');
  }

  async function read(): Promise<void> {
    const chosen = anyJob();
    if (!chosen) return;
    const { job_id } = chosen;
    const path = random.pick([
      `/jobs/${job_id}`,
      `/jobs/${job_id}/results?limit=50`,
      `/jobs/${job_id}/results?status_group=broken&url_contains=missing`,
      `/jobs/${job_id}/stats`,
      `/jobs/${job_id}/export?format=csv`,
      `/jobs/${job_id}/export?format=xlsx`,
      '/users/me/credits',
      '/users/me/credit-transactions',
    ]);
    await answered(`GET ${path.replace(job_id, '…')}`, gateway.ask('GET', path), [200, 404, 410, 429]);
  }

  async function share(): Promise<void> {
    const chosen = anyJob();
    if (!chosen) return;
    const at = `/jobs/${chosen.job_id}/share`;
    const answer = await answered('share', gateway.ask('POST', at, {}), [201, 404, 409, 410]);
    if (answer?.status !== 201) return;
    watch.count('share');
    await answered('GET /share/…', gateway.ask('GET', `/share/${answer.body.token}`), [200, 404, 410, 429]);
    if (random.chance(0.5)) await answered('revoke', gateway.ask('DELETE', `${at}/${answer.body.token}`), [204, 404]);
  }

  async function changeEndpoints(): Promise<void> {
    if (endpoints.size < 3) return addEndpoint();
    const [id] = random.pick([...endpoints]);
    const path = `/api/v2/webhooks/endpoints/${id}`;
    const answer = await answered('DELETE endpoint', v2.ask('DELETE', path), [200, 204, 404]);
    if (answer && answer.status < 300) endpoints.delete(id);
  }

  /** As an owner does whose receivers work again: what waits for minutes is sent now. */
  async function sendAgain(): Promise<void> {
    for (const id of endpoints.keys()) {
      const path = `/api/v2/webhooks/endpoints/${id}/deliveries`;
      const listed = await answered('GET deliveries', v2.ask('GET', `${path}?limit=100`), [200, 404]);
      for (const { id: delivery_id, status, attempt_count } of listed?.body.items ?? []) {
        if (status !== 'pending' || attempt_count < 2) continue;
        await answered('resend', v2.ask('POST', `${path}/${delivery_id}/resend`), [202, 404, 409, 429]);
      }
    }
  }

  async function grant(): Promise<void> {
    const adjustment = { adjustment_id: randomUUID(), amount: GRANT, reason: 'more to spend' };
    // Past the service: the disk may be full for it too.
    await openCredits(log)
      .run(user_id, { type: 'adjust', ...adjustment }, commandContext())
      .catch(() => watch.count('no grant'));
  }

  async function makeKey(): Promise<void> {
    const answer = await answered('key', gateway.ask('POST', '/users/me/api-keys', { name: 'u' }), [201, 409]);
    if (answer?.status !== 201) return;
    await answered('revoke key', gateway.ask('DELETE', `/users/me/api-keys/${answer.body.id}`), [200, 204, 404]);
  }

  async function submit(): Promise<void> {
    const one = draft(randomUUID());
    submitted.push(one);
    await send(one);
    // Before it is done.
    if (random.chance(0.4)) await change(random.pick(['pause', 'cancel']));
  }

  async function repeat(): Promise<void> {
    const keyed = submitted.filter(({ key }) => key !== null).slice(-5);
    if (keyed.length > 0) await send(random.pick(keyed));
  }

  const actions: readonly [weight: number, act: () => Promise<void>][] = [
    [6, submit],
    [4, upload],
    [3, repeat],
    [3, () => change('pause')],
    [4, () => change('resume')],
    [3, () => change('cancel')],
    [3, remove],
    [6, read],
    [2, share],
    [1, changeEndpoints],
    [1, makeKey],
    [1, grant],
  ];
  const drawn = actions.flatMap(([weight, act]) => Array<() => Promise<void>>(weight).fill(act));

  return {
    user_id,
    submitted,
    endpoints,
    gateway,
    async run(for_ms) {
      const until = performance.now() + for_ms;
      while (performance.now() < until) {
        await sleep(random.between(50, 900));
        await random.pick(drawn)();
      }
    },
    async finish() {
      for (const one of submitted) {
        for (const until = fairNow() + INSISTENCE_MS; !one.is_settled && fairNow() < until; ) {
          await send(one);
          if (!one.is_settled) await sleep(REPEAT_MS);
        }
        for (const job_id of one.job_ids) {
          for (const stop of one.stops) stop.to = Math.min(stop.to, fairNow());
          const resume = () => gateway.ask('POST', `/jobs/${job_id}/resume`);
          await insist('resume', resume, [200, 402, 404, 409]);
        }
      }
      await sendAgain();
    },
  };
}
