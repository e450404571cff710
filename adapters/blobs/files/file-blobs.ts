// Stores blobs in a folder of this machine: each blob is one file, and its key is the file's path.
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { assertKey, assertPrefix, type BlobEntry, type BlobLink, type Blobs } from '../../../commands/blobs.ts';
import { removeAbandoned } from '../abandoned.ts';

/** Prefix of files that are still being written. Keys cannot contain it. */
const UNFINISHED = '~';
/** Other users of this machine cannot read uploads. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Makes the URL at which the service itself serves a blob. */
export type SignBlobLink = (key: string, link: BlobLink) => string;

interface FileBlobsOptions {
  folder: string;
  sign: SignBlobLink;
  /** Called while a blob is written. Throws to stop it. */
  assertRoom?(): void;
}

/** Opens the blobs in `folder`, and makes it when missing. Removes files that a crash left unfinished more than a day ago. */
export async function openFileBlobs({ folder, sign, assertRoom = () => {} }: FileBlobsOptions): Promise<Blobs> {
  const root = resolve(folder);
  await mkdir(root, { recursive: true, mode: FOLDER_MODE });
  await removeAbandoned(root, UNFINISHED);

  return {
    put: async (key, content) => {
      const path = pathOf(root, key);
      const unfinished = join(root, UNFINISHED + randomUUID());
      try {
        // `flush` syncs the content to the disk before the rename.
        const file = createWriteStream(unfinished, { flags: 'wx', mode: FILE_MODE, flush: true });
        await pipeline(content, guarded(assertRoom), file);
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

    async *list(prefix) {
      assertPrefix(prefix);
      const end_of_folder = prefix.lastIndexOf('/') + 1;
      yield* filesUnder(root, prefix.slice(0, end_of_folder), prefix.slice(end_of_folder));
    },

    link: async (key, link) => {
      assertKey(key);
      return sign(key, link);
    },
  };
}

/** Passes chunks on, each after `assertRoom`. */
const guarded = (assertRoom: () => void) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    assertRoom();
    for await (const chunk of chunks) {
      assertRoom();
      yield chunk;
    }
  };

function pathOf(root: string, key: string): string {
  assertKey(key);
  return join(root, ...key.split('/'));
}

/** `folder` is the beginning of keys that ends with `/`, or empty; of it, only names that start with `start` count. */
async function* filesUnder(root: string, folder: string, start: string): AsyncGenerator<BlobEntry> {
  const opened = await orMissing(opendir(join(root, folder)));
  if (opened === null) return;
  for await (const entry of opened) {
    if (!entry.name.startsWith(start) || entry.name.startsWith(UNFINISHED)) continue;
    const key = folder + entry.name;
    if (entry.isDirectory()) yield* filesUnder(root, `${key}/`, '');
    else if (entry.isFile()) {
      const found = await orMissing(stat(join(root, key)));
      if (found !== null) yield { key, size_bytes: found.size };
    }
  }
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
  return (await isFile(path)) ? orMissing(open(path)) : null;
}

/** False for a folder, whose path is only the beginning of other keys. */
async function isFile(path: string): Promise<boolean> {
  return (await orMissing(stat(path)))?.isFile() ?? false;
}

/** Null when there is no such file. ENOTDIR: a part of the key names a file, not a folder. */
async function orMissing<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
