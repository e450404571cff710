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

/** The waits before a file is sent again. */
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
  for (const wait_ms of options.idempotency_key ? AGAIN_MS : []) {
    try {
      return await send(name, query, file, options);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!LOST.includes(error.status) && error.code !== 'idempotency_in_progress') throw error;
      await new Promise((resolve) => setTimeout(resolve, error.retry_s === null ? wait_ms : error.retry_s * 1000));
    }
  }
  return await send(name, query, file, options);
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
