// Sends a file, and tells how much of it is sent: `fetch` cannot.
import { SERVICE } from '../app/address.ts';
import { type AnswerOf, ApiError, queryOf, refusalOf, SAME_SITE } from './ask.ts';
import type { Operations } from './gateway.d.ts';

interface UploadOptions {
  signal?: AbortSignal;
  /** From 0 to 1. */
  onProgress?(share: number): void;
}

const MAY_BE_MADE =
  'The file was sent, but the answer was lost. Look whether the job is in the list of jobs before you send the file again.';

/** @example await upload('POST /jobs', { column: 'B' }, file, { onProgress: setShare }) */
export function upload<Name extends 'POST /jobs' | 'POST /analyze-csv'>(
  name: Name,
  query: Operations[Name]['query'],
  file: File,
  { signal, onProgress }: UploadOptions = {},
): Promise<AnswerOf<Name>> {
  const form = new FormData();
  form.append('file', file);
  const request = new XMLHttpRequest();
  const header = (of: string) => request.getResponseHeader(of);
  return new Promise((resolve, reject) => {
    request.open('POST', `${SERVICE}${name.split(' ')[1]}${queryOf(query)}`);
    for (const [of, value] of Object.entries(SAME_SITE)) request.setRequestHeader(of, value);
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded / total);
    request.onload = () => {
      if (request.status < 300) resolve(request.response as AnswerOf<Name>);
      else reject(refusalOf(request.status, request.response, header));
    };
    let message = 'The upload broke off. Check the connection and send the file again.';
    // From here on the service may have made the job, though its answer is lost.
    if (name === 'POST /jobs') request.upload.onload = () => (message = MAY_BE_MADE);
    request.onerror = () => reject(new ApiError(message, { status: 0, code: 'unreachable' }));
    request.onabort = () => reject(signal?.reason);
    signal?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}
