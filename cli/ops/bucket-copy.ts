// Brings a copy of the events to a bucket: an object of Parquet for each table, and a manifest that names those of one position. The manifest
// appears whole, after its objects, and the objects that it does not name are deleted after it.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertOwner, COPIED_TABLES, type Copied, type Copy, changedTables, NoCopy } from '../../analysis/copy.ts';
import { copyToParquet } from '../../analysis/parquet.ts';
import type { Blobs } from '../../commands/blobs.ts';
import type { BlobBucket } from '../../settings/blob-url.ts';
import { closing } from '../closing.ts';
import { MODE } from './output-file.ts';

const FORMAT = 'url-checker-copy';
const MANIFEST = 'manifest.json';
const TABLES = 'tables/';

interface Manifest extends Omit<Copied, 'changed' | 'is_published'> {
  format: typeof FORMAT;
  /** Each manifest has one of its own, and so a version of its own. */
  call: string;
  /** By the name of the table; `key` is below the prefix of the bucket. */
  tables: Readonly<Record<string, { key: string; size_bytes: number }>>;
}

/**
 * `step`: called before each step that a power cut may separate from the next. Throws `NoCopy` where another machine publishes there. Objects are deleted
 * only if they were there before the manifest was replaced: a later one may belong to a call that replaces it next.
 */
export async function publishToBucket(
  copy: Copy,
  bucket: BlobBucket,
  folder: string,
  step: () => void = () => {},
): Promise<void> {
  const { openS3Blobs } = await import('../../adapters/blobs/s3/s3-blobs.ts');
  await using blobs = closing(await openS3Blobs({ ...bucket, folder: join(folder, 'downloads') }));
  const state = await copy.copied();
  const { changed, is_published: _, ...copied } = state;
  const found = await blobs.getVersioned(MANIFEST);
  const there = found && manifestOf(found.text);
  assertOwner(state, there?.id ?? null);
  const before = await Array.fromAsync(blobs.list(TABLES), ({ key }) => key);
  const is_own = there !== null && there.id === copied.id && there.version === copied.version;
  // Somebody else's, or of a working copy that was lost: what it names may be of another time.
  const wanted = is_own ? changedTables(changed) : COPIED_TABLES;
  const tables = { ...(is_own && there.tables) };
  // What a call that was killed has left may hold the URLs of deleted jobs.
  if (wanted.length === 0 && unnamed(before, tables).length === 0) return;
  const added: string[] = [];
  for (const name of wanted) {
    tables[name] = await put(copy, blobs, { name, folder });
    added.push(tables[name].key);
    step();
  }
  const manifest: Manifest = { format: FORMAT, call: randomUUID(), ...copied, tables };
  const is_replaced = await blobs.replace(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`, found?.version ?? null);
  if (!is_replaced) {
    for (const key of added) await blobs.delete(key);
    throw new NoCopy(
      'another machine brought its copy there just now: end one of the two, or give it a prefix of its own',
    );
  }
  step();
  await copy.published();
  step();
  for (const key of unnamed(before, tables)) {
    await blobs.delete(key);
    step();
  }
}

function manifestOf(content: string): Manifest {
  const manifest = JSON.parse(content) as Manifest;
  if (manifest.format !== FORMAT) throw new Error(`${MANIFEST} of the bucket is not of a copy of events`);
  return manifest;
}

function unnamed(keys: readonly string[], tables: Manifest['tables']): string[] {
  const named = new Set(Object.values(tables).map(({ key }) => key));
  return keys.filter((key) => !named.has(key));
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
