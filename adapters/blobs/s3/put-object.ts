// Writes an object whole or not at all, with one part of it in memory.
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { asked, BlobsUnavailable } from './errors.ts';

export interface ObjectName {
  Bucket: string;
  Key: string;
}

/** The least that S3 takes, so that an upload takes little memory. All parts but the last have this size, as some stores ask. */
export const PART_BYTES = 5 * 1024 * 1024;
/** A part goes through a slow line. */
const PART_MS = 120_000;

/** Throws the errors of `content` as they are, and the store's as `asked` does. */
export async function putObject(
  client: S3Client,
  object: ObjectName,
  content: Readable,
): Promise<{ size_bytes: number }> {
  const slowly = { requestTimeout: PART_MS };
  const parts: CompletedPart[] = [];
  let size_bytes = 0;
  let upload: (ObjectName & { UploadId: string }) | null = null;
  try {
    for await (const part of partsOf(content)) {
      size_bytes += part.length;
      if (upload === null && part.length < PART_BYTES) {
        await asked(client.send(new PutObjectCommand({ ...object, Body: part, ContentLength: part.length }), slowly));
        return { size_bytes };
      }
      if (part.length === 0) break;
      if (upload === null) {
        const { UploadId } = await asked(client.send(new CreateMultipartUploadCommand(object)));
        upload = { ...object, UploadId: UploadId! };
      }
      const PartNumber = parts.length + 1;
      const { ETag } = await asked(
        client.send(new UploadPartCommand({ ...upload, PartNumber, Body: part, ContentLength: part.length }), slowly),
      );
      parts.push({ PartNumber, ETag });
    }
    // Stores take long to join many parts.
    await asked(
      client.send(new CompleteMultipartUploadCommand({ ...upload!, MultipartUpload: { Parts: parts } }), slowly),
    );
    return { size_bytes };
  } catch (error) {
    if (upload !== null) {
      const aborted = client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
      // A store that is away keeps the parts; its own rule for unfinished uploads removes them.
      if (!(error instanceof BlobsUnavailable)) await aborted;
    }
    throw error;
  }
}

/** Cuts the content into parts of PART_BYTES; the last one is smaller, and may be empty. */
async function* partsOf(content: Readable): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let room = PART_BYTES;
  for await (const chunk of content) {
    let rest = Buffer.from(chunk);
    while (rest.length >= room) {
      yield Buffer.concat([...pieces, rest.subarray(0, room)]);
      rest = rest.subarray(room);
      [pieces, room] = [[], PART_BYTES];
    }
    pieces.push(rest);
    room -= rest.length;
  }
  yield Buffer.concat(pieces);
}
