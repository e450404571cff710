// Holds the replies of handlers to what their routes declare.
import type { TSchema } from '../../events/schema.ts';
import { isStreamed } from '../../http/frame/answers/json-pieces.ts';
import { closedInput } from '../../http/frame/input/input-schemas.ts';
import { type Check, openValidation } from '../../http/frame/input/validation.ts';
import { type Reply, type Route, successStatus } from '../../http/frame/route.ts';

const validation = openValidation();

/** Returns the route with a handler that throws when its reply differs from the declared responses. */
export function checked(route: Route): Route {
  const check = replyCheck(route);
  return {
    ...route,
    async handler(request, deps) {
      const reply = await route.handler(request, deps);
      check(reply);
      return reply;
    },
  };
}

function replyCheck(route: Route): (reply: Reply) => void {
  const checks = new Map<TSchema, Check>();
  const fail = (what: string): never => {
    throw new Error(`${route.method} ${route.path} replies with ${what}`);
  };
  return (reply) => {
    const status = reply.status ?? successStatus(route)!;
    const declared = route.responses[status] ?? fail(`status ${status}, which it does not declare`);
    const is_json = typeof reply.body === 'object' && reply.body !== null && !(reply.body instanceof Uint8Array);
    if (!is_json) return;
    const schema = declared.schema ?? fail(`a body with status ${status}, which it does not declare`);
    const check = checks.get(schema) ?? validation.compile('body', closedInput(schema));
    checks.set(schema, check);
    // The check reads the JSON that the client gets: a Date is text, and undefined is absent. It does not read streamed lists.
    const seen = JSON.stringify(reply.body, (_name, value) => (isStreamed(value) ? [] : value));
    const [problem] = check(JSON.parse(seen));
    if (problem) fail(`${problem.loc.join('.')}, which ${problem.msg}`);
  };
}
