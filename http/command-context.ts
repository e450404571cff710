// Who runs a command that a request asks for.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Caller, RouteRequest } from './route.ts';

export function contextOf(request: Pick<RouteRequest, 'request_id'> & { caller: Caller }, now: number): CommandContext {
  const { caller, request_id } = request;
  const actor =
    caller.kind === 'key' ? `key:${caller.key_id}` : `${caller.is_admin ? 'admin' : 'user'}:${caller.user_id}`;
  return { command_id: randomUUID(), causation_id: request_id, actor, now };
}
