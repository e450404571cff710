// The aggregate of a browser's session in the console: it begins once, and ends for good. Decision 155 says why.
import type { EventStore } from '../../events/event-store.ts';
import type { SessionBegun, SessionEvent } from '../../events/session.ts';
import { sessionStream } from '../../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from '../aggregate.ts';

/** What the session began as, while it is open. */
export type SessionState = 'none' | 'ended' | Required<SessionBegun>;

export const initial = (): SessionState => 'none';
export const evolve = evolveBy<SessionState, SessionEvent>({
  SessionBegun: (_, begun) => ({ is_admin: false, endings: 0, ...begun }),
  SessionEnded: () => 'ended',
});

export type SessionCommand =
  | { type: 'begin'; session: Required<SessionBegun> }
  /** `user_id`: whose session it has to be. */
  | { type: 'end'; user_id: string };

export const ALREADY_USED = { code: 'already_used', message: 'This link was used already.' };
export const NO_SUCH_SESSION = { code: 'session_not_found', message: 'There is no such session.' };

export function decide(state: SessionState, command: SessionCommand): Decision<SessionEvent> {
  if (command.type === 'begin') {
    return state === 'none' ? { events: [{ type: 'SessionBegun', data: command.session }] } : { refused: ALREADY_USED };
  }
  if (state === 'ended') return { events: [] };
  if (state === 'none' || state.user_id !== command.user_id) return { refused: NO_SUCH_SESSION };
  return { events: [{ type: 'SessionEnded', data: {} }] };
}

export type Sessions = ReturnType<typeof openSessions>;

export function openSessions(log: EventStore) {
  const aggregate = openAggregate<SessionState, SessionEvent>(log, { initial, evolve });
  const run = (session_id: string, command: SessionCommand, context: CommandContext, assume_empty = false) =>
    aggregate.handle(sessionStream(session_id), context, (state) => decide(state, command), { assume_empty });
  return {
    /** Refused as `already_used` when a session of this id has begun before, also at the same time in another process. */
    begin: (session_id: string, session: Required<SessionBegun>, context: CommandContext) =>
      run(session_id, { type: 'begin', session }, context, true),
    /** Refused as `session_not_found` when it is not this user's. Ending an ended session succeeds. */
    end: ({ session_id, user_id }: { session_id: string; user_id: string }, context: CommandContext) =>
      run(session_id, { type: 'end', user_id }, context),
    /** What the session began as, as the log has it now; null when it has not begun, or was ended. */
    async find(session_id: string): Promise<Readonly<Required<SessionBegun>> | null> {
      const { state } = await aggregate.read(sessionStream(session_id));
      return typeof state === 'string' ? null : state;
    },
  };
}
