// A small object that several machines write: a write names the version that it replaces, and the store refuses it where another one is there.
import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { faultOf, isMissing } from './errors.ts';
import type { ObjectName } from './put-object.ts';

export interface VersionedText {
  text: string;
  version: string;
}

/** Null when there is no such object. Throws as `asked` does. */
export async function readVersioned(client: S3Client, object: ObjectName): Promise<VersionedText | null> {
  try {
    const { Body, ETag } = await client.send(new GetObjectCommand(object));
    return { text: await Body!.transformToString(), version: ETag! };
  } catch (error) {
    if (isMissing(error)) return null;
    throw faultOf(error);
  }
}

/** What a store says where the version is not the one that is there, or is being replaced just now. */
const REPLACED: ReadonlySet<string> = new Set(['PreconditionFailed', 'ConditionalRequestConflict', 'NoSuchKey']);

/**
 * Returns false, and writes nothing, when the object has another version; null stands for no object. `text` is one that was never written, since
 * equal ones have one version. Throws as `asked` does, and an Error where the store knows no conditional writes.
 */
export async function replaceVersion(
  client: S3Client,
  object: ObjectName,
  text: string,
  version: string | null,
): Promise<boolean> {
  const Body = Buffer.from(text);
  const condition = version === null ? { IfNoneMatch: '*' } : { IfMatch: version };
  try {
    await client.send(new PutObjectCommand({ ...object, ...condition, Body, ContentLength: Body.length }));
    return true;
  } catch (error) {
    const { name } = error as Error;
    if (name === 'NotImplemented') throw new Error('the store of files knows no conditional writes', { cause: error });
    if (!REPLACED.has(name)) throw faultOf(error);
    // A try that is made again after a lost answer finds what it wrote itself.
    return (await readVersioned(client, object))?.text === text;
  }
}
