// The stream `service-log`, one a log: which log this is. It is appended once, by whoever opens the log first.
import { type Static, Type } from 'typebox';

export const LogIdentified = Type.Object({
  log_id: Type.String({ format: 'uuid', description: 'Drawn at random: no other log has it, unless it is a copy.' }),
});
export type LogIdentified = Static<typeof LogIdentified>;
