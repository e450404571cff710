// Builds the context of a command from its request.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../../commands/aggregate.ts';
import type { LimitedKey } from '../../commands/ledger/credits.ts';
import type { Access, Caller } from '../frame/route.ts';

/** The caller's API key, where that has a limit of credits. */
export const limitedKeyOf = ({ key_id, credit_limit }: Caller): LimitedKey | undefined =>
  key_id === undefined || credit_limit === undefined ? undefined : { key_id, credit_limit };

/** `access` is the rule that admitted the request; it is the actor when there is no caller. `now`: Unix milliseconds. */
export function contextOf(caller: Caller | null, access: Access, request_id: string, now: number): CommandContext {
  const role = caller?.is_admin ? 'admin' : 'user';
  const known = caller?.kind === 'key' ? `key:${caller.key_id}` : caller && `${role}:${caller.user_id}`;
  return { command_id: randomUUID(), causation_id: request_id, actor: known ?? access, now };
}
