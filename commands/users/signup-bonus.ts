// The aggregate of one client address, or of one site of IPv6: which signup bonuses it claimed in the last 24 hours. The stream decides
// the limit, so that it holds over all http processes.
import type { EventStore } from '../../events/event-store.ts';
import type { SignupBonusClaimed, SignupBonusesEvent } from '../../events/signup-bonus.ts';
import { signupBonusesStream } from '../../events/streams.ts';
import type { WithheldReason } from '../../events/user.ts';
import { DAY_MS } from '../../time/units.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from '../aggregate.ts';
import type { Loaded } from '../stream-states.ts';

/** Bonuses for one address in 24 hours. Of these, no two are for the same fingerprint. */
export const BONUSES_A_DAY = 3;
/** Those of a whole /48, in which one customer may pick addresses at will; fingerprints repeat there. */
export const SITE_BONUSES_A_DAY = 12;

/** The newest claims, in order. */
export type Claims = readonly SignupBonusClaimed[];

export const initial = (): Claims => [];
export const evolve = evolveBy<Claims, SignupBonusesEvent>({
  SignupBonusClaimed: (claims, claim) => [...claims, claim].slice(-SITE_BONUSES_A_DAY),
});

/** Keyed hashes, in hex. */
export interface BonusClaim {
  address: string;
  /** Of an IPv6 address alone. */
  site: string | null;
  user: string;
  fingerprint: string;
}

/** A user's claim is recorded once. `now`: milliseconds since the epoch. */
export function claim(
  claims: Claims,
  { user, fingerprint }: Pick<BonusClaim, 'user' | 'fingerprint'>,
  now: number,
  of: 'address' | 'site' = 'address',
): Decision<SignupBonusesEvent, { code: WithheldReason; message: string }> {
  if (claims.some((made) => made.user === user)) return { events: [] };
  // A claim of long after now was made before the clock was set back.
  const of_today = claims.filter(({ claimed_at }) => Math.abs(now - Date.parse(claimed_at)) < DAY_MS);
  if (of === 'address' && of_today.some((made) => made.fingerprint === fingerprint)) {
    return refused('fingerprint_repeated', 'The same machine had a signup bonus within 24 hours.');
  }
  const most = of === 'site' ? SITE_BONUSES_A_DAY : BONUSES_A_DAY;
  if (of_today.length >= most) {
    return refused('address_limit', `The ${of} had ${most} signup bonuses within 24 hours.`);
  }
  const claimed_at = new Date(now).toISOString();
  return { events: [{ type: 'SignupBonusClaimed', data: { user, fingerprint, claimed_at } }] };
}

const refused = (code: WithheldReason, message: string) => ({ refused: { code, message } });

export type BonusClaims = ReturnType<typeof openBonusClaims>;

export function openBonusClaims(log: EventStore) {
  /** The newest claims are the whole state, so a stream of any length is loaded at once. */
  async function begin(stream: string): Promise<Loaded<Claims> | null> {
    const options = { direction: 'backwards', limit: SITE_BONUSES_A_DAY } as const;
    const newest = await Array.fromAsync(log.readStream(stream, options));
    const last = newest[0];
    if (!last) return null;
    const state = newest
      .reverse()
      .reduce((claims, event) => evolve(claims, event as unknown as SignupBonusesEvent), initial());
    return { state, revision: last.revision, last_id: last.id, position: last.position };
  }
  const aggregate = openAggregate<Claims, SignupBonusesEvent>(log, { initial, evolve }, { begin });
  return {
    // What is killed between the two streams is claimed again: each takes the claim of a user once.
    /** Returns why the bonus is withheld; null when the claim is recorded. */
    async claim({ address, site, ...claimed }: BonusClaim, context: CommandContext): Promise<WithheldReason | null> {
      const of = [[address, 'address'] as const, ...(site === null ? [] : [[site, 'site'] as const])];
      for (const [hash, kind] of of) {
        const handled = await aggregate.handle(signupBonusesStream(hash), context, (claims) =>
          claim(claims, claimed, context.now, kind),
        );
        if (!handled.ok) return handled.refused.code;
      }
      return null;
    },
  };
}
