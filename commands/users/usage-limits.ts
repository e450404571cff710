// The limits of a user's usage that administrators and the user set: the ledger holds the user's next jobs to them.
import { creditsStream, userStream } from '../../events/streams.ts';
import { usageAt } from '../../events/usage.ts';
import type { CommandContext, Done } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import { limitSpending, limitUsage, setUsage } from './user.ts';

/** The commands of administrators are refused as `user_not_found` and `user_erased`. */
export type UsageLimits = ReturnType<typeof openUsageLimits>;

export function openUsageLimits(credits: CreditsLedger) {
  const aggregate = credits.users;
  return {
    /** Sets the most credits that the user's jobs may use in a period; null removes the limit. */
    setLimit: (user_id: string, set: { limit: number | null; reason: string }, context: CommandContext) =>
      aggregate.handle(userStream(user_id), context, (user) => limitUsage(user, set)),
    /** The same by the user. The lower one of both holds. Refused as `user_erased`. */
    setOwn: (user_id: string, limit: number | null, context: CommandContext) =>
      aggregate.handle(userStream(user_id), context, (user) => limitSpending(user, limit)),
    /** Sets the credits that the user has used in the current period. The ledger's entries stay as they are. */
    async setUsage(user_id: string, set: { usage: number; reason: string }, context: CommandContext): Promise<Done> {
      const { state } = await credits.aggregate.read(creditsStream(user_id));
      const { period_start, used: counted } = usageAt(state.usage, new Date(context.now).toISOString());
      return aggregate.handle(userStream(user_id), context, (user) =>
        setUsage(user, { ...set, period_start, counted }),
      );
    },
  };
}
