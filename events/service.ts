// The stream `service-log`, one a log: which log this is. It is appended once, by whoever opens the log first.
import { Type } from 'typebox';
import { type DataOf, event } from './event-spec.ts';

export const SERVICE_EVENTS = {
  LogIdentified: event({
    log_id: Type.String({ format: 'uuid', description: 'Drawn at random: no other log has it, unless it is a copy.' }),
  }),
};
export type LogIdentified = DataOf<typeof SERVICE_EVENTS.LogIdentified>;
