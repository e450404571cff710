// Loaded into a process before the service (`node --import`), in each of its threads: the names that NAMES_FILE has, the JSON of an object,
// lead to its addresses. So a name can move to another address while the service runs.
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const file = process.env.NAMES_FILE;
/** Unset while the file is being written. */
let known: Record<string, string> = {};

function addressOf(name: string): string | undefined {
  try {
    known = JSON.parse(readFileSync(file!, 'utf8'));
  } catch {}
  return known[name];
}

interface Looked {
  all?: boolean;
}
type Answer = (error: Error | null, address?: unknown, family?: number) => void;

if (file) {
  const { lookup, resolve4, resolve6 } = dns;
  const lookupLater = dns.promises.lookup;
  const one = (address: string) => ({ address, family: 4 });
  Object.assign(dns, {
    lookup(name: string, ...rest: unknown[]) {
      const address = addressOf(name);
      const done = rest.at(-1) as Answer;
      if (address === undefined) return (lookup as (...all: unknown[]) => void)(name, ...rest);
      const { all = false } = (typeof rest[0] === 'object' ? rest[0] : {}) as Looked;
      setImmediate(() => (all ? done(null, [one(address)]) : done(null, address, 4)));
    },
    resolve4(name: string, ...rest: unknown[]) {
      const address = addressOf(name);
      if (address === undefined) return (resolve4 as (...all: unknown[]) => void)(name, ...rest);
      setImmediate(() => (rest.at(-1) as Answer)(null, [address]));
    },
    resolve6(name: string, ...rest: unknown[]) {
      if (addressOf(name) === undefined) return (resolve6 as (...all: unknown[]) => void)(name, ...rest);
      setImmediate(() => (rest.at(-1) as Answer)(null, []));
    },
  });
  Object.assign(dns.promises, {
    async lookup(name: string, options?: Looked) {
      const address = addressOf(name);
      if (address === undefined) return lookupLater(name, options as never);
      return options?.all ? [one(address)] : one(address);
    },
    async resolve4(name: string) {
      const address = addressOf(name);
      if (address === undefined) throw new Error(`no address of ${name}`);
      return [address];
    },
  });
  syncBuiltinESMExports();
}
