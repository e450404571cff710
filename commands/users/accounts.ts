// Accounts: the first sight of a user registers them, and the signup bonus is granted at the first sight or at the first fingerprint.
import type { EventStore, Position } from '../../events/event-store.ts';
import { userStream } from '../../events/streams.ts';
import type { Fingerprint, WithheldReason } from '../../events/user.ts';
import { type CommandContext, notRefused, type Refusal } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import { type BonusClaim, openBonusClaims } from './signup-bonus.ts';
import {
  decideBonus,
  endSessions,
  erase,
  type IdentityReport,
  isErased,
  recordFingerprint,
  report,
  type SeenUser,
  see,
} from './user.ts';

export interface AccountsOptions {
  /** The credits of a new account. */
  signup_credits: number;
  /** `first_sight`: with the registration. `fingerprint`: with the first fingerprint, unless the address had its bonuses of the day. */
  bonus_at: 'first_sight' | 'fingerprint';
}

/** `none`: new accounts get no credits. */
export type BonusOutcome = { status: 'granted' | 'none' } | { status: 'withheld'; reason: WithheldReason };
export type Fingerprinted = { ok: true; bonus: BonusOutcome; position: Position } | { ok: false; refused: Refusal };

export type Accounts = ReturnType<typeof openAccounts>;

export function openAccounts(log: EventStore, credits: CreditsLedger, { signup_credits, bonus_at }: AccountsOptions) {
  const aggregate = credits.users;
  const claims = openBonusClaims(log);

  /** Grants once: the ledger knows a bonus that was granted. */
  async function grant(user_id: string, context: CommandContext): Promise<{ appended: number; position: Position }> {
    const bonus = { type: 'grant', transaction_type: 'signup_bonus', expires_at: null } as const;
    const command = { ...bonus, reference_id: user_id, amount: signup_credits };
    return notRefused(await credits.run(user_id, command, context));
  }

  return {
    /**
     * Registers a new user, and grants the signup bonus that is due. Returns the position of the last event that it appended; null for
     * none, and `erased` for an erased user.
     */
    async see(seen: SeenUser, context: CommandContext): Promise<Position | 'erased' | null> {
      const registered = await aggregate.handle(userStream(seen.user_id), context, (user) => {
        const decided = see(user, seen);
        if ('refused' in decided || bonus_at !== 'first_sight' || user.bonus !== 'pending') return decided;
        return { events: [...decided.events, { type: 'SignupBonusApproved', data: {} }] };
      });
      if (!registered.ok) return 'erased';
      const last = registered.appended ? registered.position : null;
      // Each request asks, so that a crash between the decision and the grant loses no bonus.
      if (signup_credits === 0 || registered.state.bonus !== 'approved') return last;
      const granted = await grant(seen.user_id, context);
      return granted.appended ? granted.position : last;
    },

    /** Records the fingerprint and decides on the signup bonus. Refused as `too_many_fingerprints` and `user_erased`. */
    async recordFingerprint(
      { user_id, fingerprint, claim }: { user_id: string; fingerprint: Fingerprint; claim: BonusClaim },
      context: CommandContext,
    ): Promise<Fingerprinted> {
      const stream = userStream(user_id);
      const recorded = await aggregate.handle(stream, context, (user) =>
        recordFingerprint(user, fingerprint, context.now),
      );
      if (!recorded.ok) return recorded;
      let decided = recorded;
      if (bonus_at === 'fingerprint') {
        const { bonus } = recorded.state;
        const withheld = bonus === 'pending' ? await claims.claim(claim, context) : null;
        // A concurrent call from another address may have decided first, and its decision stays.
        const handled = await aggregate.handle(stream, context, (user) => decideBonus(user, withheld));
        if (!handled.ok) return handled;
        decided = handled;
      }
      // Accounts that get no credits have the decision too: the trial waits for it.
      if (signup_credits === 0) return { ok: true, bonus: { status: 'none' }, position: decided.position };
      const reason = decided.state.bonus;
      if (reason !== 'approved' && reason !== 'pending') {
        return { ok: true, bonus: { status: 'withheld', reason }, position: decided.position };
      }
      const { appended, position } = await grant(user_id, context);
      return { ok: true, bonus: { status: 'granted' }, position: appended ? position : decided.position };
    },

    /** Records what the identity provider's webhook reports. Refused as `user_erased`. */
    report: (reported: IdentityReport, context: CommandContext) =>
      aggregate.handle(userStream(reported.user_id), context, (user) => report(user, reported)),
    /** The user as the log has them now: the role as the last token said, whether they were erased, and how often all sessions were ended. */
    async find(user_id: string): Promise<{ is_admin: boolean; is_erased: boolean; endings: number }> {
      const { state } = await aggregate.read(userStream(user_id));
      return { is_admin: state.is_admin, is_erased: isErased(state), endings: state.endings };
    },
    /** Ends all sessions that began before, whether or not a read model has them. */
    endSessions: (user_id: string, context: CommandContext) =>
      aggregate.handle(userStream(user_id), context, endSessions),
    /** Asks for the erasure of a user whom the identity provider deleted, also of one who never came. */
    erase: (user_id: string, context: CommandContext) =>
      aggregate.handle(userStream(user_id), context, (user) => erase(user, { unknown_too: true })),
  };
}
