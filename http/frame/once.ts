// A POST that makes something, with an idempotency key: the same key and the same request get the first answer again, and make nothing
// more. A submission of URLs has a protocol of its own, because a job can be taken back. Decision 169 says why.
import { createHmac, hash } from 'node:crypto';
import { notRefused } from '../../commands/aggregate.ts';
import { openIdempotencyKeys } from '../../commands/idempotency.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import { derivedSecretKey } from '../../events/derived-key.ts';
import type { EventStore, Position } from '../../events/event-store.ts';
import { readSealedJson } from '../../events/job-options.ts';
import { HttpError, retryLater } from './errors.ts';
import { KEY } from './idempotency-key.ts';
import { type Reply, type Route, type RouteRequest, successStatus } from './route.ts';

/** Another request with the key takes over from one that is silent for so long. */
const LEASE_MS = 60_000;
const RETRY_S = 5;
/** Requests at once may settle the key before this one. */
const MAX_TRIES = 10;

/** What a secret is made of is not in the log: it has only the hash of the client's key. */
export const secretsOf = (secret: Uint8Array, of: readonly string[]) => {
  const key = derivedSecretKey(secret, 'secrets of keyed requests');
  return (purpose: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose, ...of]))
      .digest();
};

const again = (body: object, status: number, position: Position): Reply => ({
  ...{ status, body, position },
  headers: { 'Idempotency-Replayed': 'true', 'cache-control': 'no-store' },
});

/** The request, whose commands have this id: what they make has it too, so that a repeated request finds it. */
const withId = (request: RouteRequest, command_id: string, secret: RouteRequest['secret']): RouteRequest =>
  Object.create(request, {
    command: { value: () => ({ ...request.command(), command_id }) },
    secret: { value: secret },
  });

/** Returns a function that gives a route its idempotency keys, where the route takes them. `key`: a secret of the service. */
export function openOnce(log: EventStore, key: Uint8Array): (route: Route) => Route {
  const keys = openIdempotencyKeys(log);

  async function answer(route: Route, makes: NonNullable<Route['makes']>, request: RouteRequest): Promise<Reply> {
    const given = (request.headers as { [KEY]?: string })[KEY];
    if (given === undefined || request.caller === null) return await route.handler(request, undefined);
    const { user_id } = request.caller as { user_id: string };
    const scope = { user_id, method: route.method, route: request.ctx.path, key: given };
    const fingerprint = hash('sha256', canonicalJson([request.query, request.body ?? null]), 'hex');
    const context = request.command();
    let [id, settled] = [context.command_id, null as string | null];
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const claim = { type: 'claim', fingerprint, job_id: id, lease_ms: LEASE_MS, settled } as const;
      const claimed = await keys.run(scope, claim, context);
      if (claimed.ok) {
        const { answer: first } = claimed.state;
        const made_as = first?.job_id ?? id;
        const asking = withId(request, made_as, secretsOf(key, [user_id, given, made_as]));
        if (first) {
          const body = readSealedJson(first.reply) as object;
          return again(await makes.restore(body, asking, undefined), first.status, claimed.position);
        }
        return await make(route, makes, asking, { scope, id });
      }
      const { refused } = claimed;
      if (refused.code === 'idempotency_in_progress') throw retryLater(409, refused.code, refused.message, RETRY_S);
      if (refused.code !== 'unsettled') throw new HttpError(409, refused.code, refused.message);
      // A request ended without an answer. This one makes the same thing, which then exists once, whichever of them made it.
      settled = refused.job_id;
      id = refused.job_id;
    }
    throw new Error(`an idempotency key was claimed by ${MAX_TRIES} others`);
  }

  async function make(
    route: Route,
    makes: NonNullable<Route['makes']>,
    request: RouteRequest,
    { scope, id }: { scope: Parameters<typeof keys.run>[0]; id: string },
  ): Promise<Reply> {
    const context = request.command();
    // While the log is away this fails, and the lease runs out.
    const end = (type: 'release' | 'abandon') => keys.run(scope, { type, job_id: id }, context).catch(() => {});
    let reply: Reply;
    try {
      reply = await route.handler(request, undefined);
    } catch (error) {
      const made_nothing = error instanceof HttpError && error.status < 500;
      await end(made_nothing ? 'release' : 'abandon');
      throw error;
    }
    const status = reply.status ?? successStatus(route)!;
    const kept = Object.entries(reply.body as object).filter(([name]) => !makes.secrets.includes(name));
    const sealed = { user_id: scope.user_id, reply: JSON.stringify(Object.fromEntries(kept)) };
    const answered = { job_id: id, status, body: {}, ...sealed };
    const { position } = notRefused(await keys.run(scope, { type: 'answer', answer: answered }, context));
    return { ...reply, position };
  }

  return (route) => {
    const { makes } = route;
    return makes === null ? route : { ...route, handler: (request) => answer(route, makes, request) };
  };
}
