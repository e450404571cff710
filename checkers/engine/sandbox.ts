// The host that the checker answers for itself: its name resolves to the checker's own site on loopback, and those below it to nothing.
import type { Resolver, Vetted } from './resolver.ts';

export interface Sandbox {
  host: string;
  /** Of the site on `SANDBOX_ADDRESS`, whichever port a URL names. */
  port: number;
}

const SANDBOX_ADDRESS = '127.0.0.1';

const THERE: Vetted = { ok: true, addresses: [SANDBOX_ADDRESS] };
const ABSENT: Vetted = { ok: false, code: 'dns_not_found' };

/** The resolver, which asks nobody for the sandbox. The address guard has no say in it. */
export function withSandbox(resolver: Resolver, { host: own }: Sandbox): Resolver {
  const below = `.${own}`;
  const vetted = (host: string): Vetted | null => (host === own ? THERE : host.endsWith(below) ? ABSENT : null);
  return {
    ...resolver,
    knownUntil: (host) => (host === own ? Number.POSITIVE_INFINITY : resolver.knownUntil(host)),
    recent: (host) => vetted(host) ?? resolver.recent(host),
    resolve(host, done) {
      const found = vetted(host);
      if (found) done(found);
      else resolver.resolve(host, done);
    },
  };
}
