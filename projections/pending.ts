// The read model of steps without their next one, for the sweeper.
import { idOf } from '../events/streams.ts';
import type { Write } from '../readmodels/documents.ts';
import { listingId, type PendingDocument, pending, reservationDocumentId } from '../readmodels/pending.ts';
import { type Projection, projection } from './projection.ts';

export const pendingProjection: Projection = projection({
  name: 'pending',
  version: 1,
  collections: [pending],
  begin: () => [] as Write<PendingDocument>[],
  on: {
    UrlsListed({ data: { job_id, from_index }, metadata: { at: since } }, writes) {
      if (from_index > 0) return;
      writes.push({ replace: { _id: listingId(job_id), kind: 'listing', job_id, user_id: null, since } });
    },
    CreditsReserved({ data: { reservation_id, reference_id: job_id }, stream, metadata: { at: since } }, writes) {
      const _id = reservationDocumentId(reservation_id);
      writes.push({ replace: { _id, kind: 'reservation', job_id, user_id: idOf(stream), since } });
    },
    CreditsRefunded({ data: { transaction_type, reference_id } }, writes) {
      if (transaction_type === 'release') writes.push({ delete: reservationDocumentId(reference_id) });
    },
    JobCreated({ data: { job_id, reservation_id } }, writes) {
      writes.push({ delete: listingId(job_id) }, { delete: reservationDocumentId(reservation_id) });
    },
    JobResumed({ data: { reservation_id } }, writes) {
      if (reservation_id) writes.push({ delete: reservationDocumentId(reservation_id) });
    },
    ListingDiscarded({ stream }, writes) {
      writes.push({ delete: listingId(idOf(stream)) });
    },
  },
  end: async (writes, open) => (await open(pending)).write(writes),
});
