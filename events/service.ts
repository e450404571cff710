// The stream `service-log`, one in each log: the log's identity. The process that opens a new log appends it.

import { type DataOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

export const SERVICE_EVENTS = {
  LogIdentified: event({
    log_id: Type.String({ format: 'uuid', description: 'A random id: only a copy of this log has the same.' }),
  }),
};
export type LogIdentified = DataOf<typeof SERVICE_EVENTS.LogIdentified>;
