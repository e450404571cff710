// Reads an object as a stream. A connection that breaks or falls silent is replaced by another one, which begins at the next byte.
import { Readable } from 'node:stream';
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';
import { asked, faultOf, isMissing } from './errors.ts';
import type { ObjectName } from './put-object.ts';

/** Connections in a row that break without a byte. */
const MAX_FAILURES = 3;

/** Null when there is no such object. The stream fails when the object changes or goes before its end. */
export async function readObject(client: S3Client, object: ObjectName): Promise<Readable | null> {
  let answer: GetObjectCommandOutput;
  try {
    answer = await client.send(new GetObjectCommand(object));
  } catch (error) {
    if (isMissing(error)) return null;
    throw faultOf(error);
  }
  const { ETag, ContentLength: size_bytes = 0 } = answer;
  let body = answer.Body as Readable;
  let pieces = body[Symbol.asyncIterator]();
  let read_bytes = 0;
  let failures = 0;

  async function next(): Promise<IteratorResult<Buffer>> {
    while (read_bytes < size_bytes) {
      try {
        const piece: IteratorResult<Buffer> = await pieces.next();
        if (piece.done) throw new Error('the answer ended before the object');
        read_bytes += piece.value.length;
        failures = 0;
        return piece;
      } catch (error) {
        failures += 1;
        if (failures > MAX_FAILURES) throw faultOf(error);
        const rest = { ...object, Range: `bytes=${read_bytes}-`, ...(ETag && { IfMatch: ETag }) };
        body = (await asked(client.send(new GetObjectCommand(rest)))).Body as Readable;
        pieces = body[Symbol.asyncIterator]();
      }
    }
    return { done: true, value: undefined };
  }
  // Also a reader that leaves before its first byte frees the connection.
  const leave = async () => {
    body.destroy();
    return { done: true as const, value: undefined };
  };
  return Readable.from({ [Symbol.asyncIterator]: () => ({ next, return: leave }) }, { objectMode: false });
}
