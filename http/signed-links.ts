// Signed links work without credentials until they expire. Only holders of the key can make one.
import { createHmac } from 'node:crypto';
import { sameText } from './callers/same-text.ts';

const LIFETIME_MS = 3_600_000;

export function openSignedLinks(options: { key: Uint8Array; base_url: () => string; now: () => number }) {
  const { key, base_url, now } = options;
  /** The HMAC-SHA256 of the path and the other parameters, `expires` included, in the order of their names. */
  function signatureOf(path: string, query: URLSearchParams): string {
    const signed = new URLSearchParams(query);
    signed.delete('signature');
    signed.sort();
    return createHmac('sha256', key).update(`${path}?${signed}`).digest('base64url');
  }
  return {
    /** Returns a URL of this service that is valid for an hour. `expires_at` is ISO 8601. */
    sign(path: string, query: Readonly<Record<string, string | number | boolean | undefined>>) {
      const expires_s = Math.floor((now() + LIFETIME_MS) / 1000);
      const parameters = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
      parameters.set('expires', String(expires_s));
      parameters.set('signature', signatureOf(path, parameters));
      return { url: `${base_url()}${path}?${parameters}`, expires_at: new Date(expires_s * 1000).toISOString() };
    },
    /** `path` and `search` are those of the request, undecoded. A changed link is `forged` even after its expiry. */
    verify(path: string, search: string): 'valid' | 'expired' | 'forged' {
      const query = new URLSearchParams(search);
      const given = query.getAll('signature');
      if (given.length !== 1 || !sameText(given[0]!, signatureOf(path, query))) return 'forged';
      return Number(query.get('expires')) * 1000 > now() ? 'valid' : 'expired';
    },
  };
}
