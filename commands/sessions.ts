// The aggregate of a browser's session in the console: it begins once, and ends for good.
import type { EventStore } from '../events/event-store.ts';
import type { SessionEvent } from '../events/session.ts';
import { sessionStream } from '../events/streams.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate } from './aggregate.ts';

export type SessionState = 'none' | 'open' | 'ended';

export const initial = (): SessionState => 'none';
export const evolve = evolveBy<SessionState, SessionEvent>({
  SessionBegun: () => 'open',
  SessionEnded: () => 'ended',
});

export type SessionCommand = { type: 'begin'; user_id: string; expires_at: string } | { type: 'end' };

export const ALREADY_USED = { code: 'already_used', message: 'This link was used already.' };

export function decide(state: SessionState, command: SessionCommand): Decision<SessionEvent> {
  if (command.type === 'end') return { events: state === 'open' ? [{ type: 'SessionEnded', data: {} }] : [] };
  if (state !== 'none') return { refused: ALREADY_USED };
  const { user_id, expires_at } = command;
  return { events: [{ type: 'SessionBegun', data: { user_id, expires_at } }] };
}

export interface Sessions {
  /** Refused as `already_used` when a session of this id has begun before, also at the same time in another process. */
  begin(session: { session_id: string; user_id: string; expires_at: string }, context: CommandContext): Promise<Done>;
  end(session_id: string, context: CommandContext): Promise<Done>;
  /** Whether the session has begun and has not been ended, as the log has it now. */
  isOpen(session_id: string): Promise<boolean>;
}

export function openSessions(log: EventStore): Sessions {
  const aggregate = openAggregate<SessionState, SessionEvent>(log, { initial, evolve });
  const run = (session_id: string, command: SessionCommand, context: CommandContext, assume_empty = false) =>
    aggregate.handle(sessionStream(session_id), context, (state) => decide(state, command), { assume_empty });
  return {
    begin: ({ session_id, ...session }, context) => run(session_id, { type: 'begin', ...session }, context, true),
    end: (session_id, context) => run(session_id, { type: 'end' }, context),
    isOpen: async (session_id) => (await aggregate.read(sessionStream(session_id))).state === 'open',
  };
}
