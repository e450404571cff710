// What administrators do to a user besides limits: they adjust the credits, write notes, and star whom they want to see first.
import { hash } from 'node:crypto';
import type { Position } from '../../events/event-store.ts';
import { userStream } from '../../events/streams.ts';
import type { CommandContext, Done, Refusal } from '../aggregate.ts';
import type { CreditsLedger, CreditsRefusal } from '../ledger/credits.ts';
import { notAUser, star, updateNotes } from './user.ts';

export interface Adjustment {
  /** Credits to add, or to remove when it is negative. */
  amount: number;
  reason: string;
  /** One of an administrator's requests for a user with the same key adjusts the credits. Null: this request is the only one. */
  idempotency_key: string | null;
}

export type Adjusted =
  /** `is_repeated`: an earlier request with the key made the adjustment. */
  | { ok: true; balance: number; position: Position; is_repeated: boolean }
  | { ok: false; refused: CreditsRefusal | (Refusal & { code: 'user_not_found' | 'user_erased' }) };

/** All commands are refused as `user_not_found` and `user_erased`. */
export interface UserAdministration {
  /** Refused as `insufficient_credits` when the balance would be negative, and as `idempotency_key_mismatch`. */
  adjustCredits(user_id: string, adjustment: Adjustment, context: CommandContext): Promise<Adjusted>;
  /** With `replaces` it is refused as `notes_changed` when other notes are there. */
  updateNotes(
    user_id: string,
    update: { notes: string | null; replaces?: string | null },
    context: CommandContext,
  ): Promise<Done>;
  /** Stars the user or takes the star away; null turns what is so into the other. */
  star(
    user_id: string,
    is_starred: boolean | null,
    context: CommandContext,
  ): Promise<{ ok: true; is_starred: boolean; position: Position } | Extract<Done, { ok: false }>>;
}

const digestOf = (...parts: unknown[]) => hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);

export function openUserAdministration(credits: CreditsLedger): UserAdministration {
  const aggregate = credits.users;
  return {
    async adjustCredits(user_id, { amount, reason, idempotency_key }, context) {
      const refused = notAUser((await aggregate.read(userStream(user_id))).state);
      if (refused) return { ok: false, refused };
      const request_id = idempotency_key === null ? undefined : digestOf(context.actor, user_id, idempotency_key);
      const adjustment_id = request_id === undefined ? context.command_id : `${request_id}.${digestOf(amount, reason)}`;
      const command = { type: 'adjust', adjustment_id, request_id, amount, reason } as const;
      const adjusted = await credits.run(user_id, command, context);
      if (!adjusted.ok) return adjusted;
      const { state, position, appended } = adjusted;
      return { ok: true, balance: state.balance, position, is_repeated: appended === 0 };
    },
    updateNotes: (user_id, { notes, replaces }, context) =>
      aggregate.handle(userStream(user_id), context, (user) => updateNotes(user, notes, replaces)),
    async star(user_id, is_starred, context) {
      const starred = await aggregate.handle(userStream(user_id), context, (user) => star(user, is_starred));
      return starred.ok ? { ok: true, is_starred: starred.state.is_starred, position: starred.position } : starred;
    },
  };
}
