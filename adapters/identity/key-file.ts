// Key files of one machine. One process makes the file, and every process reads it.
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The path of a key file in the data folder. */
export const keyPath = (data_dir: string, name: string) => join(data_dir, 'identity', name);

/**
 * Reads the file, and fills it with what `make` returns when there is none. Processes that start at once each write a draft; `link`
 * publishes exactly one of the drafts, because it fails when the file exists. The key is on the disk before anybody has it: what the
 * log holds sealed under a key would outlive it otherwise.
 */
export async function readKeyFile(path: string, make: () => Promise<Buffer | string>): Promise<Buffer> {
  const kept = await readFile(path).catch(unless('ENOENT'));
  if (kept) return kept;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}.new`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(await make());
    await file.sync();
    await link(draft, path).catch(unless('EEXIST'));
    for (const folder of [dirname(path), dirname(dirname(path))]) await syncFolder(folder);
  } finally {
    await rm(draft, { force: true });
  }
  return await readFile(path);
}

/** A new name is on the disk only when its folder is. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path);
  await folder.sync();
}

/** Makes a handler that returns undefined for a file system error with this code, and throws any other. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
