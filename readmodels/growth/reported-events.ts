// The read model of what agencies and the console reported.
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** `user_id` for a paywall event, `agency_id` for an agency's. */
export interface ReportedEventDocument extends Document {
  kind: 'agency' | 'paywall';
  user_id: string | null;
  agency_id: string | null;
  event: string;
  /** A JSON object. */
  properties: string;
  /** The agency's time of the event, in ISO 8601. */
  occurred_at: string | null;
  received_at: string;
}

export const reportedEvents: ReadModelSpec<ReportedEventDocument> = {
  name: 'intake_events',
  ...kept('300 an event, and its properties', "never; a user's with the erasure", 'in_file'),
  fields: { kind: 'string', user_id: 'string', received_at: 'string' },
  indexes: [{ fields: { kind: 1, received_at: -1 } }, { fields: { user_id: 1, received_at: -1 } }],
};
