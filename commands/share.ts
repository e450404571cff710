// The aggregate of one share of a job, and how its token is made: shown once, kept as a hash.
import { hash, randomBytes } from 'node:crypto';
import type { EventStore, Position } from '../events/event-store.ts';
import type { ShareEvent, ShareUsed } from '../events/share.ts';
import { shareStream } from '../events/streams.ts';
import { type CommandContext, openAggregate, type Refusal } from './aggregate.ts';

export interface Share {
  /** Null before it is created. */
  job_id: string | null;
  revoked: boolean;
}

const fold = {
  initial: (): Share => ({ job_id: null, revoked: false }),
  evolve(share: Share, event: ShareEvent): Share {
    if (event.type === 'ShareCreated') share.job_id = event.data.job_id;
    else if (event.type === 'ShareRevoked') share.revoked = true;
    return share;
  },
};

/** 256 random bits: nobody finds one by trying. */
export const newShareToken = () => randomBytes(32).toString('base64url');

/** Whoever holds the token can name its stream and its document; the id gives nothing away of the token. */
export const idOfShareToken = (token: string) => hash('sha256', token, 'hex');

type Done = { ok: true; position: Position } | { ok: false; refused: Refusal };

export interface Shares {
  create(
    share: { token: string; job_id: string; user_id: string; expires_at: string | null },
    context: CommandContext,
  ): Promise<{ share_id: string; position: Position }>;
  /** Refused as `share_not_found` when it is not of this job. A revoked one is a success. */
  revoke(share: { share_id: string; job_id: string }, context: CommandContext): Promise<Done>;
  /** Refused as `share_not_found` when there is none. */
  recordUses(share_id: string, uses: ShareUsed, context: CommandContext): Promise<Done>;
}

const notFound = { refused: { code: 'share_not_found', message: 'There is no such share of this job.' } };

export function openShares(log: EventStore): Shares {
  const aggregate = openAggregate<Share, ShareEvent>(log, fold);
  return {
    async create({ token, ...share }, context) {
      const data = { share_id: idOfShareToken(token), ...share };
      const created = await aggregate.handle(shareStream(data.share_id), context, ({ job_id }) => ({
        events: job_id === null ? [{ type: 'ShareCreated', data }] : [],
      }));
      if (!created.ok) throw new Error(created.refused.message);
      return { share_id: data.share_id, position: created.position };
    },
    revoke: ({ share_id, job_id }, context) =>
      aggregate.handle(shareStream(share_id), context, (share) => {
        if (share.job_id !== job_id) return notFound;
        return { events: share.revoked ? [] : [{ type: 'ShareRevoked', data: {} }] };
      }),
    recordUses: (share_id, uses, context) =>
      aggregate.handle(shareStream(share_id), context, ({ job_id }) =>
        job_id === null ? notFound : { events: [{ type: 'ShareUsed', data: uses }] },
      ),
  };
}

export const { initial, evolve } = fold;
