// Where `events copy` keeps a copy: a file of DuckDB, a folder of Parquet, a bucket or a database of PostgreSQL. All but the file are made of a
// working copy, a file of DuckDB too, which may be lost: then everything is brought there again.
import { hash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { assertOwner, COPIED_TABLES, type Copied, type Copy, changedTables, NoCopy } from '../../analysis/copy.ts';
import { copyToParquet } from '../../analysis/parquet.ts';
import { publishToPostgres } from '../../analysis/postgres-copy.ts';
import type { Blobs } from '../../commands/blobs.ts';
import { type BlobBucket, parseBlobUrl } from '../../settings/blob-url.ts';
import { readConfig } from '../../settings/config.ts';
import { closing } from '../closing.ts';
import { type Run, UsageError } from './command.ts';
import { MODE, partOf } from './output-file.ts';

export interface CopyPlace {
  /** The file of DuckDB that is brought up to date. */
  file: string;
  /** Brings what has changed in it to the place. */
  publish(copy: Copy): Promise<void>;
}

export const PLACE_MEANS =
  'a file of DuckDB, whose name ends in .duckdb; a folder, or a bucket as BLOB_URL names it (s3://…), which gets a file of Parquet for each table; ' +
  'or postgres://USER:PASSWORD@HOST/DATABASE?schema=events';

/** Throws `UsageError`. */
export async function openPlace(run: Run, to: string): Promise<CopyPlace> {
  const scheme = /^([a-z][a-z0-9+]+):\/\//.exec(to)?.[1];
  if (scheme === 's3') {
    const bucket = parseBlobUrl(to);
    if (bucket?.kind !== 's3') throw new UsageError(`--to ${shown(to)}: it must name a bucket as BLOB_URL does`);
    const { folder, file } = await workingCopy(run, to);
    return { file, publish: (copy) => publishToBucket(copy, bucket, folder) };
  }
  if (scheme === 'postgres' || scheme === 'postgresql') {
    const { folder, file } = await workingCopy(run, to);
    return { file, publish: (copy) => publishToPostgres(copy, to, folder) };
  }
  if (scheme !== undefined)
    throw new UsageError(`--to ${shown(to)}: it must be a file, a folder, s3://… or postgres://…`);
  const place = resolve(run.folder, to);
  if (extname(place) === '.duckdb') return { file: place, publish: async () => {} };
  await mkdir(place, { recursive: true, mode: 0o700 });
  return { file: join(place, '.copy.duckdb'), publish: (copy) => writeTables(copy, place) };
}

/** In `DATA_DIR`, by the name of the place without its secrets. */
async function workingCopy({ env }: Run, to: string): Promise<{ folder: string; file: string }> {
  const folder = resolve(join(readConfig(env).data_dir, 'copies'));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return { folder, file: join(folder, `${hash('sha256', withoutSecret(to)).slice(0, 16)}.duckdb`) };
}

/** Codes of Node and of PostgreSQL. */
const AWAY = /^(?:ECONN[A-Z]{1,20}|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|57P0[123]|08\w{3}|unavailable)$/;

/** Whether the place may answer later. */
export const isAway = (error: unknown): boolean => AWAY.test(String((error as { code?: unknown }).code));

/** A secret that was not encoded may hold a slash or an @. */
const shown = (url: string) =>
  url.slice(0, url.indexOf('//') + 2) + url.slice(Math.max(url.indexOf('//') + 2, url.lastIndexOf('@') + 1));
const withoutSecret = (url: string) => url.replace(/\/\/[^/@]*@/, '//');

/** Writes the tables that have changed since they were written last, each as one file that appears whole. */
async function writeTables(copy: Copy, folder: string): Promise<void> {
  const { changed } = await copy.copied();
  if (changed.size === 0) return;
  for (const name of changedTables(changed)) {
    using target = await partOf(join(folder, `${name}.parquet`));
    await writeFile(target.part, '', { mode: MODE });
    await copyToParquet(copy.database, `(FROM "${name}")`, target.part);
    await target.finish();
  }
  await copy.published();
}

// Brings a copy of the events to a bucket: an object of Parquet for each table, and a manifest that names those of one position. The manifest
// appears whole, after its objects, and the objects that it does not name are deleted after it.
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
