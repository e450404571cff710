// Brings a copy of the events to a bucket: an object of Parquet for each table, and a manifest that names those of one position. The manifest
// appears whole, after its objects, and the objects that it does not name are deleted after it.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { openS3Blobs } from '../../adapters/blobs/s3/s3-blobs.ts';
import { COPIED_TABLES, type Copied, type Copy, changedTables } from '../../analysis/copy.ts';
import { copyToParquet } from '../../analysis/parquet.ts';
import type { Blobs } from '../../commands/blobs.ts';
import type { BlobBucket } from '../../settings/blob-url.ts';
import { closing } from '../closing.ts';
import { MODE } from './output-file.ts';

const FORMAT = 'url-checker-copy';
const MANIFEST = 'manifest.json';
const TABLES = 'tables/';

interface Manifest extends Omit<Copied, 'changed'> {
  format: typeof FORMAT;
  /** By the name of the table; `key` is below the prefix of the bucket. */
  tables: Readonly<Record<string, { key: string; size_bytes: number }>>;
}

/** `step`: called before each step that a power cut may separate from the next. */
export async function publishToBucket(
  copy: Copy,
  bucket: BlobBucket,
  folder: string,
  step: () => void = () => {},
): Promise<void> {
  await using blobs = closing(await openS3Blobs({ ...bucket, folder: join(folder, 'downloads') }));
  const { changed, ...copied } = await copy.copied();
  const there = await manifestIn(blobs);
  const is_own = there !== null && there.id === copied.id && there.version === copied.version;
  // Somebody else's, or of a working copy that was lost: what it names may be of another time.
  const wanted = is_own ? changedTables(changed) : COPIED_TABLES;
  if (wanted.length > 0) {
    const tables = { ...(is_own && there.tables) };
    for (const name of wanted) {
      tables[name] = await put(copy, blobs, { name, folder });
      step();
    }
    const manifest: Manifest = { format: FORMAT, ...copied, tables };
    await blobs.put(MANIFEST, Readable.from([Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]));
    step();
    await copy.published();
    step();
    await deleteOthers(blobs, manifest, step);
  } else await deleteOthers(blobs, there!, step);
}

async function manifestIn(blobs: Blobs): Promise<Manifest | null> {
  const content = await blobs.get(MANIFEST);
  if (content === null) return null;
  const manifest = JSON.parse(await text(content)) as Manifest;
  if (manifest.format !== FORMAT) throw new Error(`${MANIFEST} of the bucket is not of a copy of events`);
  return manifest;
}

async function put(copy: Copy, blobs: Blobs, { name, folder }: { name: string; folder: string }) {
  const part = join(folder, `${randomUUID()}.parquet`);
  const key = `${TABLES}${name}.${randomUUID()}.parquet`;
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(part, '', { mode: MODE });
    await copyToParquet(copy.database, `(FROM "${name}")`, part);
    return { key, ...(await blobs.put(key, createReadStream(part))) };
  } finally {
    await rm(part, { force: true });
  }
}

/** Also those of a call that was killed, and what was deleted from the log since. */
async function deleteOthers(blobs: Blobs, { tables }: Manifest, step: () => void): Promise<void> {
  const named = new Set(Object.values(tables).map(({ key }) => key));
  for await (const { key } of blobs.list(TABLES)) {
    if (named.has(key)) continue;
    await blobs.delete(key);
    step();
  }
}
