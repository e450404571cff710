// Secret keys of one machine, each a file of DATA_DIR, for where no setting gives one.
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const KEY_BYTES = 32;
type KeyName = 'link-key' | 'webhook-key';

/** A key as the settings have it, or else this machine's own. */
export async function keyOf(setting: string | null, data_dir: string, name: KeyName): Promise<Buffer> {
  return setting === null ? readLocalKey(data_dir, name) : Buffer.from(setting);
}

/**
 * Made when there is none. Processes that start at once each make one, and `link` lets exactly one of them be the key: it
 * fails when the file is there, and what it puts there is whole.
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
  if (key.length !== KEY_BYTES) throw new Error(`${path} holds no key: remove it`);
  return key;
}

/** Takes an error of the file system as undefined when it has this code, and throws any other. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
