// Signed links: addresses that work without signing in until they expire, because nobody else can make one.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const LIFETIME_MS = 3_600_000;

export interface SignedLinks {
  /** The whole address of a path of this service and its parameters, good for an hour. `expires_at`: ISO 8601. */
  sign(path: string, query: Readonly<Record<string, string | number | boolean | undefined>>): SignedLink;
  /** Of a request's path and query string as they came. A link that was tampered with is `forged` even when expired. */
  verify(path: string, search: string): 'valid' | 'expired' | 'forged';
}

export interface SignedLink {
  url: string;
  expires_at: string;
}

export function openSignedLinks(options: { key: Uint8Array; base_url: () => string; now: () => number }): SignedLinks {
  const { key, base_url, now } = options;
  /** HMAC-SHA256 over the path and the other parameters, expiry included, in the order of their names. */
  function signatureOf(path: string, query: URLSearchParams): string {
    const signed = new URLSearchParams(query);
    signed.delete('signature');
    signed.sort();
    return createHmac('sha256', key).update(`${path}?${signed}`).digest('base64url');
  }
  return {
    sign(path, query) {
      // In whole seconds, which is what the link says.
      const expires_s = Math.floor((now() + LIFETIME_MS) / 1000);
      const parameters = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
      parameters.set('expires', String(expires_s));
      parameters.set('signature', signatureOf(path, parameters));
      return { url: `${base_url()}${path}?${parameters}`, expires_at: new Date(expires_s * 1000).toISOString() };
    },
    verify(path, search) {
      const query = new URLSearchParams(search);
      const given = query.getAll('signature');
      if (given.length !== 1 || !sameText(given[0]!, signatureOf(path, query))) return 'forged';
      return Number(query.get('expires')) * 1000 > now() ? 'valid' : 'expired';
    },
  };
}

/** In a time that tells nothing of where they differ. */
function sameText(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}

const KEY_BYTES = 32;

/**
 * The key of one machine, made when there is none. Processes that start at once each make one, and `link` lets exactly
 * one of them be the key: it fails when the file is there, and what it puts there is whole.
 */
export async function readLinkKey(data_dir: string): Promise<Buffer> {
  const folder = join(data_dir, 'identity');
  const path = join(folder, 'link-key');
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
  if (key.length !== KEY_BYTES) throw new Error(`${path} holds no key of links: remove it`);
  return key;
}

/** Takes an error of the file system as undefined when it has this code, and throws any other. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
