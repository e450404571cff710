// The header Idempotency-Key as routes declare it, and the headers and errors that come of it.
import { KEY_MISMATCH } from '../../commands/idempotency.ts';
import { Type } from '../../events/schema.ts';

export const KEY = 'idempotency-key';

export const idempotencyKey = (description: string) =>
  Type.Object({
    [KEY]: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description })),
  });

/** @example headers: submissionKey('the same URLs') */
export const submissionKey = (sent: string) =>
  idempotencyKey(
    'Your own key for this one submission, best a UUID v4 such as `8e03978e-40d5-43e8-bc93-6894a57f9324`. For 24 hours the service ' +
      `answers the same key and ${sent} with the first answer, and creates no second job.`,
  );

/** Of the routes that make something else than a job. */
export const MAKING_KEY = idempotencyKey(
  'Your own key for this one request, best a UUID v4. For 24 hours the service answers the same key and the same request with the first answer, ' +
    'and makes nothing more.',
).properties[KEY];

/** The headers of the answer to a submission. */
export const MADE = {
  Location: 'The path of the job.',
  'Idempotency-Replayed': '`true` when the service repeats the first answer to the key.',
};
/** The header of a 409. */
export const RETRY_AFTER = {
  'Retry-After': 'With `idempotency_in_progress`, the seconds to wait before the request is sent again.',
};
export const MISMATCH = {
  idempotency_key_mismatch: { message: KEY_MISMATCH.message },
};
export const IN_PROGRESS = {
  idempotency_in_progress: {
    message: 'A request with the same key is still being worked on. Send it again in a moment.',
  },
};
