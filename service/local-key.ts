// Secret keys of one machine, each a file of DATA_DIR, for settings that give none.
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const KEY_BYTES = 32;
type KeyName = 'link-key' | 'webhook-key' | 'personal-data-key' | 'payment-key';

/** Returns the setting's key, or this machine's own when the setting is null. */
export async function keyOf(setting: string | null, data_dir: string, name: KeyName): Promise<Buffer> {
  return setting === null ? readLocalKey(data_dir, name) : Buffer.from(setting);
}

/**
 * Reads the key, and makes one when there is none. Processes that start at once each make a draft; `link` is atomic and fails when
 * the file exists, so exactly one draft becomes the key. Throws when the file holds no key.
 */
export async function readLocalKey(data_dir: string, name: KeyName): Promise<Buffer> {
  const folder = join(data_dir, 'identity');
  const path = join(folder, name);
  const kept = await readFile(path).catch(unless('ENOENT'));
  if (kept) return assertKey(kept, path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(8).toString('hex')}.new`;
  try {
    await writeFile(draft, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' });
    await link(draft, path).catch(unless('EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
  return assertKey(await readFile(path), path);
}

function assertKey(key: Buffer, path: string): Buffer {
  if (key.length !== KEY_BYTES) throw new Error(`${path} holds no key of ${KEY_BYTES} bytes: remove it`);
  return key;
}

/** Makes a handler that returns undefined for a file system error with this code, and throws any other. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
