// Bounds the bodies that are read before anybody knows who sent them: those of webhooks, whose signature is of the whole body.
import type { Context } from 'koa';
import { retryLater } from '../errors.ts';
import type { RequestState } from '../observe.ts';
import type { RawBody } from '../request-bodies.ts';
import { AddressShares, holdersOf, type ShareLimits } from './address-shares.ts';

export type RawBodies = ReturnType<typeof openRawBodies>;

const MIB = 1024 * 1024;

export function openRawBodies(limits: ShareLimits = { all: 16 * MIB, of_an_address: 4 * MIB }) {
  const shares = new AddressShares(limits);
  return {
    /** Returns a function that gives the room back. Throws 503 when there is none for so large a body. */
    enter(ctx: Pick<Context, 'get' | 'state'>, { limit_bytes }: Pick<RawBody, 'limit_bytes'>): () => void {
      const announced = ctx.get('content-length');
      // A body in chunks announces no length.
      const bytes = announced === '' ? limit_bytes : Math.min(Number(announced), limit_bytes);
      const holders = holdersOf((ctx.state as RequestState).ip);
      if (!shares.hasRoom(holders, bytes)) {
        throw retryLater(503, 'unavailable', 'Too many bodies are on their way. Send this one again soon.');
      }
      shares.add(holders, bytes);
      return () => shares.add(holders, -bytes);
    },
  };
}
