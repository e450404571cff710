// The blobs of a job: the uploaded file, and the record of what was left out of the list.
import type { Blobs } from '../blobs.ts';

export const UPLOADS = 'uploads/';
export const uploadKey = (job_id: string) => `${UPLOADS}${job_id}`;
export const leftOutKey = (job_id: string) => `left-out/${job_id}`;

/**
 * The job that a blob belongs to; null for any other blob.
 * @example jobOfBlob('uploads/019aad3c-1f3e-7c04-9a37-3b1d9f0c2e51') // '019aad3c-1f3e-7c04-9a37-3b1d9f0c2e51'
 */
export function jobOfBlob(key: string): string | null {
  const [, job_id = ''] = key.split('/', 2);
  return [uploadKey(job_id), leftOutKey(job_id)].includes(key) ? job_id : null;
}

/** Deletes what there is of them; running it again is safe. */
export async function deleteJobBlobs(blobs: Pick<Blobs, 'delete'>, job_id: string): Promise<void> {
  await blobs.delete(uploadKey(job_id));
  await blobs.delete(leftOutKey(job_id));
}
