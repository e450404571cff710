// The aggregate of the shares of one job. The service shows a share's token once and stores its hash.
import { hash, randomBytes } from 'node:crypto';
import type { EventStore } from '../events/event-store.ts';
import type { ShareCreated, SharesEvent, ShareUsed, ShareUseEvent } from '../events/share.ts';
import { sharesStream, shareUsesStream } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate, openStateless } from './aggregate.ts';

export const MAX_SHARES = 100;

/** Whether a share is revoked, by share id. An expired share counts as valid here, so it counts towards the limit. */
export type SharesState = Map<string, 'valid' | 'revoked'>;

export const initial = (): SharesState => new Map();
export const evolve = evolveBy<SharesState, SharesEvent>({
  ShareCreated: (shares, { share_id }) => shares.set(share_id, 'valid'),
  ShareRevoked: (shares, { share_id }) => shares.set(share_id, 'revoked'),
});

export type SharesCommand = { type: 'create'; share: ShareCreated } | { type: 'revoke'; share_id: string };

export const TOO_MANY_SHARES = {
  code: 'too_many_shares',
  message: `The job has ${MAX_SHARES} shares already; revoke one.`,
};
export const NO_SUCH_SHARE = { code: 'share_not_found', message: 'There is no such share of this job.' };

export function decide(shares: Readonly<SharesState>, command: SharesCommand): Decision<SharesEvent> {
  if (command.type === 'revoke') {
    const { share_id } = command;
    const found = shares.get(share_id);
    if (found === undefined) {
      return { refused: NO_SUCH_SHARE };
    }
    return { events: found === 'revoked' ? [] : [{ type: 'ShareRevoked', data: { share_id } }] };
  }
  if (shares.has(command.share.share_id)) return { events: [] };
  if ([...shares.values()].filter((state) => state === 'valid').length >= MAX_SHARES) {
    return { refused: TOO_MANY_SHARES };
  }
  return { events: [{ type: 'ShareCreated', data: command.share }] };
}

/** 256 random bits in base64url: a token cannot be guessed. */
export const newShareToken = (secret: Buffer = randomBytes(32)) => secret.toString('base64url');

/** The id is the token's hash: the token leads to its document, and the id does not reveal the token. */
export const idOfShareToken = (token: string) => hash('sha256', token, 'hex');

export type Shares = ReturnType<typeof openShares>;

export function openShares(log: EventStore) {
  const shares = openAggregate<SharesState, SharesEvent>(log, { initial, evolve });
  const used = openStateless<ShareUseEvent>(log);
  const run = (job_id: string, command: SharesCommand, context: CommandContext) =>
    shares.handle(sharesStream(job_id), context, (held) => decide(held, command));
  return {
    /** Refused as `too_many_shares`. */
    create: (
      { token, ...of }: { token: string; job_id: string; user_id: string; expires_at: string | null },
      context: CommandContext,
    ) => run(of.job_id, { type: 'create', share: { share_id: idOfShareToken(token), ...of } }, context),
    /** Refused as `share_not_found` when the job has no such share. Revoking a revoked share succeeds. */
    revoke: ({ share_id, job_id }: { share_id: string; job_id: string }, context: CommandContext) =>
      run(job_id, { type: 'revoke', share_id }, context),
    /** Whether the job has the share and nobody has revoked it, as the log has it now. It may have expired. */
    isValid: async ({ share_id, job_id }: { share_id: string; job_id: string }): Promise<boolean> =>
      (await shares.read(sharesStream(job_id))).state.get(share_id) === 'valid',
    /** Records views of a share. The caller has found the share. */
    async recordUses(share_id: string, data: ShareUsed, context: CommandContext): Promise<void> {
      await used.handle(shareUsesStream(share_id), context, () => ({ events: [{ type: 'ShareUsed', data }] }));
    },
  };
}
