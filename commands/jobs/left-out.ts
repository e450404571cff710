// What a submission left out: the texts that became no URL of the job, each with its row and reason. They are a blob of the job's own,
// a line of JSON for each, in the order of the list, so that readers need the uploaded file no more.
import { PassThrough } from 'node:stream';
import type { Blobs } from '../blobs.ts';
import type { LeftOut, LeftOutSink } from './intake.ts';
import { leftOutKey } from './job-blobs.ts';

/** A small file may repeat a line without end: what comes after this many bytes is counted, but not kept. */
export const MAX_LEFT_OUT_BYTES = 64 * 1024 * 1024;
const CHUNK_CHARS = 64 * 1024;

const lineOf = ({ row, reason, value, first, ref }: LeftOut): string => {
  const place = first ? [first.index, first.row] : ref === undefined ? [] : [null, null];
  return `${JSON.stringify([row, reason, value, ...place, ...(ref === undefined ? [] : [ref])])}\n`;
};

/**
 * Reads a line of the blob.
 * @example leftOutOf('[7,"duplicate","https://example.com/",0,2]').first // { index: 0, row: 2 }
 */
export function leftOutOf(line: string): LeftOut {
  type Line = [number, string, string, (number | null)?, (number | null)?, string?];
  const [row, reason, value, index, first_row, ref] = JSON.parse(line) as Line;
  const first = index == null ? {} : { first: { index, row: first_row! } };
  return { row, reason, value, ...first, ...(ref === undefined ? {} : { ref }) };
}

/** Whether a line has this reason; it parses nothing, because a page may be behind a million lines. */
export const hasReason = (line: string, reason: string): boolean =>
  line.startsWith(`"${reason}"`, line.indexOf(',') + 1);

/** The lines in order, in pages; none when nothing was left out. Throws the blob store's errors. */
export async function* leftOutLines(blobs: Pick<Blobs, 'get'>, job_id: string): AsyncGenerator<string[]> {
  const stored = await blobs.get(leftOutKey(job_id));
  if (stored === null) return;
  let rest = '';
  for await (const piece of stored.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) yield lines;
  }
}

export interface LeftOutWriter extends LeftOutSink {
  /** Stores the blob; makes none when nothing was left out. Throws the blob store's errors. */
  end(): Promise<void>;
  /** Ends without a blob. */
  discard(): Promise<void>;
}

/** Writes the blob while the list is read, in memory that does not grow with it. */
export function openLeftOut(blobs: Pick<Blobs, 'put' | 'delete'>, job_id: string): LeftOutWriter {
  let pipe: PassThrough | null = null;
  let stored: Promise<unknown> | null = null;
  let failed: Error | null = null;
  let text = '';
  let size_bytes = 0;
  const flush = () => {
    if (text === '') return;
    if (pipe === null) {
      pipe = new PassThrough();
      stored = blobs.put(leftOutKey(job_id), pipe).catch((error: Error) => {
        failed = error;
        pipe?.destroy();
      });
    }
    size_bytes += Buffer.byteLength(text);
    if (!pipe.destroyed) pipe.write(text);
    text = '';
  };
  return {
    add(entry) {
      if (size_bytes + text.length >= MAX_LEFT_OUT_BYTES) return;
      text += lineOf(entry);
      if (text.length >= CHUNK_CHARS) flush();
    },
    drained() {
      if (!pipe?.writableNeedDrain || pipe.destroyed) return undefined;
      return new Promise((resolve) => {
        const stream = pipe!;
        const done = () => {
          stream.off('drain', done).off('close', done);
          resolve();
        };
        stream.on('drain', done).on('close', done);
      });
    },
    async end() {
      flush();
      pipe?.end();
      await stored;
      if (failed) throw failed;
    },
    async discard() {
      pipe?.destroy(new Error('the submission was refused'));
      await stored;
      if (stored) await blobs.delete(leftOutKey(job_id));
    },
  };
}
