// The read model of steps without their next one, for the sweeper.
import type { CreditsRefunded, CreditsReserved } from '../events/credits.ts';
import type { JobCreated, JobEvent, UrlsListed } from '../events/job.ts';
import { idOf } from '../events/streams.ts';
import type { Write } from '../readmodels/documents.ts';
import { listingId, type PendingDocument, pending, reservationDocumentId } from '../readmodels/pending.ts';
import type { Projection } from './projection.ts';

export const pendingProjection: Projection = {
  name: 'pending',
  version: 1,
  types: ['UrlsListed', 'CreditsReserved', 'CreditsRefunded', 'JobCreated', 'JobResumed', 'ListingDiscarded'],
  collections: [pending],
  async apply(events, open) {
    const collection = await open(pending);
    const writes: Write<PendingDocument>[] = [];
    for (const event of events) {
      const since = event.metadata.at;
      if (event.type === 'UrlsListed') {
        const { job_id, from_index } = event.data as UrlsListed;
        if (from_index > 0) continue;
        writes.push({ replace: { _id: listingId(job_id), kind: 'listing', job_id, user_id: null, since } });
      } else if (event.type === 'CreditsReserved') {
        const { reservation_id, reference_id } = event.data as CreditsReserved;
        const _id = reservationDocumentId(reservation_id);
        const user_id = idOf(event.stream);
        writes.push({ replace: { _id, kind: 'reservation', job_id: reference_id, user_id, since } });
      } else if (event.type === 'CreditsRefunded') {
        const { transaction_type, reference_id } = event.data as CreditsRefunded;
        if (transaction_type === 'release') writes.push({ delete: reservationDocumentId(reference_id) });
      } else if (event.type === 'JobCreated') {
        const { job_id, reservation_id } = event.data as JobCreated;
        writes.push({ delete: listingId(job_id) }, { delete: reservationDocumentId(reservation_id) });
      } else if (event.type === 'ListingDiscarded') {
        writes.push({ delete: listingId(idOf(event.stream)) });
      } else {
        const { data } = event as unknown as Extract<JobEvent, { type: 'JobResumed' }>;
        if (data.reservation_id) writes.push({ delete: reservationDocumentId(data.reservation_id) });
      }
    }
    await collection.write(writes);
  },
};
