// Sends a file, and tells how much of it is sent: `fetch` cannot.
import { SERVICE } from '../app/address.ts';
import { type AnswerOf, ApiError, queryOf, refusalOf, SAME_SITE } from './ask.ts';
import type { Operations } from './gateway.d.ts';

interface UploadOptions {
  signal?: AbortSignal;
  /** From 0 to 1. */
  onProgress?(share: number): void;
  /** The service makes one job of the uploads with one key: a file whose answer is lost is sent again. */
  idempotency_key?: string;
}
type Uploads = 'POST /jobs' | 'POST /analyze-csv';

/** The waits before a file is sent again whose answer was lost. */
const AGAIN_MS = [500, 2000, 5000];
/** No answer of the service came, or not the whole one: it may have made the job. */
const LOST: readonly number[] = [0, 502, 504];

/** @example await upload('POST /jobs', { column: 'B' }, file, { onProgress: setShare, idempotency_key }) */
export async function upload<Name extends Uploads>(
  name: Name,
  query: Operations[Name]['query'],
  file: File,
  options: UploadOptions = {},
): Promise<AnswerOf<Name>> {
  const waits_ms = options.idempotency_key ? [...AGAIN_MS] : [];
  for (;;) {
    try {
      return await send(name, query, file, options);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // An earlier sending holds the key. It is answered or, when its process was killed, its lease ends.
      const is_held = error.code === 'idempotency_in_progress' && error.retry_s !== null;
      const wait_ms = is_held ? error.retry_s! * 1000 : LOST.includes(error.status) ? waits_ms.shift() : undefined;
      if (wait_ms === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait_ms));
    }
  }
}

function send<Name extends Uploads>(
  name: Name,
  query: Operations[Name]['query'],
  file: File,
  { signal, onProgress, idempotency_key }: UploadOptions,
): Promise<AnswerOf<Name>> {
  const form = new FormData();
  form.append('file', file);
  const request = new XMLHttpRequest();
  const header = (of: string) => request.getResponseHeader(of);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    request.open('POST', `${SERVICE}${name.split(' ')[1]}${queryOf(query)}`);
    for (const [of, value] of Object.entries(SAME_SITE)) request.setRequestHeader(of, value);
    if (idempotency_key) request.setRequestHeader('Idempotency-Key', idempotency_key);
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded / total);
    request.onload = () => {
      if (request.status < 300) resolve(request.response as AnswerOf<Name>);
      else reject(refusalOf(request.status, request.response, header));
    };
    const message = 'The upload broke off. Check the connection and send the file again.';
    request.onerror = () => reject(new ApiError(message, { status: 0, code: 'unreachable' }));
    request.onabort = () => reject(signal?.reason);
    signal?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}
