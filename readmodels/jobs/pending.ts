// The read model of unfinished steps: listings without a job, reservations without a job event.
import type { CollectionSpec, Document } from '../documents.ts';

export interface PendingDocument extends Document {
  kind: 'listing' | 'reservation';
  job_id: string;
  /** The user whose credits are reserved; null for a listing. */
  user_id: string | null;
  /** ISO 8601. */
  since: string;
}

export const pending: CollectionSpec<PendingDocument> = {
  name: 'pending',
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};

export const listingId = (job_id: string) => `listing:${job_id}`;
export const reservationDocumentId = (reservation_id: string) => `reservation:${reservation_id}`;
