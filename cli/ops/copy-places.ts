// Where `events copy` keeps a copy: a file of DuckDB, a folder of Parquet, a bucket or a database of PostgreSQL. All but the file are made of a
// working copy, a file of DuckDB too, which may be lost: then everything is brought there again.
import { hash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { type Copy, changedTables } from '../../analysis/copy.ts';
import { copyToParquet } from '../../analysis/parquet.ts';
import { publishToPostgres } from '../../analysis/postgres-copy.ts';
import { parseBlobUrl } from '../../settings/blob-url.ts';
import { readConfig } from '../../settings/config.ts';
import { publishToBucket } from './bucket-copy.ts';
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
