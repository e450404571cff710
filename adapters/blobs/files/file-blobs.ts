// Stores blobs in a folder of this machine: each blob is one file, and its key is the file's path.
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Blobs } from '../../../commands/blobs.ts';

const MAX_KEY_LENGTH = 1_000;
const MAX_WORD_LENGTH = 200;
/** Prefix of files that are still being written. Keys cannot contain it. */
const UNFINISHED = '~';
const UNFINISHED_AGE_MS = 24 * 60 * 60_000;
/** Other users of this machine cannot read uploads. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export class InvalidKeyError extends Error {
  readonly code = 'invalid_key';
}

/**
 * Opens the blobs in `folder`, and makes it when missing. Removes files that a crash left unfinished more than a day ago.
 * Calls throw `InvalidKeyError` (code `invalid_key`) for a key that is not words of [A-Za-z0-9._-] with / between.
 */
export async function openFileBlobs({ folder }: { folder: string }): Promise<Blobs> {
  const root = resolve(folder);
  await mkdir(root, { recursive: true, mode: FOLDER_MODE });
  await removeUnfinished(root);

  return {
    put: async (key, content) => {
      const path = pathOf(root, key);
      const unfinished = join(root, UNFINISHED + randomUUID());
      try {
        // `flush` syncs the content to the disk before the rename.
        const file = createWriteStream(unfinished, { flags: 'wx', mode: FILE_MODE, flush: true });
        await pipeline(content, file);
        const made = await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
        await rename(unfinished, path);
        await syncFolders(dirname(path), made === undefined ? dirname(path) : dirname(made));
        return { size_bytes: file.bytesWritten };
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
    },

    get: async (key) => {
      const file = await openExisting(pathOf(root, key));
      return file === null ? null : file.createReadStream();
    },

    file: async (key) => {
      const path = pathOf(root, key);
      return (await isFile(path)) ? { path, release: async () => {} } : null;
    },

    delete: async (key) => {
      const path = pathOf(root, key);
      if (await isFile(path)) await rm(path, { force: true });
    },
  };
}

function pathOf(root: string, key: string): string {
  const words = key.split('/');
  const isWord = (word: string) =>
    /^[A-Za-z0-9._-]+$/.test(word) && word.length <= MAX_WORD_LENGTH && word !== '.' && word !== '..';
  if (key.length > MAX_KEY_LENGTH || !words.every(isWord)) {
    throw new InvalidKeyError(`${JSON.stringify(key)} is not words of [A-Za-z0-9._-] with / between`);
  }
  return join(root, ...words);
}

/** Syncs `folder` and its parents up to `top`: a new file name is durable only when its folder is synced. */
async function syncFolders(folder: string, top: string): Promise<void> {
  for (let path = folder; ; path = dirname(path)) {
    const handle = await open(path);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (path === top) return;
  }
}

async function openExisting(path: string): Promise<FileHandle | null> {
  if (!(await isFile(path))) return null;
  return open(path).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
}

/** False for a folder, whose path is only the beginning of other keys. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** ENOTDIR: a part of the key names a file, not a folder. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

async function removeUnfinished(root: string): Promise<void> {
  const old_before = Date.now() - UNFINISHED_AGE_MS;
  for (const name of await readdir(root)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(root, name);
    // Another process may have removed it.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < old_before) await rm(path, { force: true });
  }
}
