// The read model of unfinished steps, for the sweeper: listings without a job, reservations without a job event.
import { idOf } from '../../events/streams.ts';
import type { Write } from '../../readmodels/documents.ts';
import { listingId, type PendingDocument, pending, reservationDocumentId } from '../../readmodels/jobs/pending.ts';
import { type Projection, projection } from '../projection.ts';

export const pendingProjection: Projection = projection({
  name: 'pending',
  version: 1,
  collections: [pending],
  /** Only the last write of each document: one page often holds all steps of a job. */
  begin: () => new Map<string, Write<PendingDocument>>(),
  on: {
    UrlsListed({ data: { job_id, from_index }, metadata: { at: since } }, writes) {
      if (from_index > 0) return;
      const _id = listingId(job_id);
      writes.set(_id, { replace: { _id, kind: 'listing', job_id, user_id: null, since } });
    },
    CreditsReserved({ data: { reservation_id, reference_id: job_id }, stream, metadata: { at: since } }, writes) {
      const _id = reservationDocumentId(reservation_id);
      writes.set(_id, { replace: { _id, kind: 'reservation', job_id, user_id: idOf(stream), since } });
    },
    CreditsRefunded({ data: { transaction_type, reference_id } }, writes) {
      if (transaction_type === 'release') forget(reservationDocumentId(reference_id), writes);
    },
    JobCreated({ data: { job_id, reservation_id } }, writes) {
      forget(listingId(job_id), writes);
      forget(reservationDocumentId(reservation_id), writes);
    },
    JobResumed({ data: { reservation_id } }, writes) {
      if (reservation_id) forget(reservationDocumentId(reservation_id), writes);
    },
    ListingDiscarded: ({ stream }, writes) => forget(listingId(idOf(stream)), writes),
  },
  end: async (writes, open) => (await open(pending)).write([...writes.values()]),
});

const forget = (id: string, writes: Map<string, Write<PendingDocument>>) => writes.set(id, { delete: id });
