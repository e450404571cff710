// Secret keys of one machine, each a file of DATA_DIR, for settings that give none.
import { randomBytes } from 'node:crypto';
import { keyPath, readKeyFile } from '../adapters/identity/key-file.ts';

const KEY_BYTES = 32;
type KeyName = 'link-key' | 'webhook-key' | 'personal-data-key' | 'ledger-key' | 'payment-key';

/** Returns the setting's key, or this machine's own when the setting is null. */
export async function keyOf(setting: string | null, data_dir: string, name: KeyName): Promise<Buffer> {
  return setting === null ? readLocalKey(data_dir, name) : Buffer.from(setting);
}

/** Reads the key, and makes one when there is none. Throws when the file holds no key. */
export async function readLocalKey(data_dir: string, name: KeyName): Promise<Buffer> {
  const path = keyPath(data_dir, name);
  const key = await readKeyFile(path, async () => randomBytes(KEY_BYTES));
  if (key.length !== KEY_BYTES) throw new Error(`${path} holds no key of ${KEY_BYTES} bytes: remove it`);
  return key;
}
