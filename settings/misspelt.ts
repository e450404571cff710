// Finds misspelt settings in the environment, which also holds variables of other programs. A name counts as misspelt when it has
// a prefix of our own, or differs from a setting's name by at most two characters.
import { distance } from 'fastest-levenshtein';

/** Prefixes that only this service uses. */
const FAMILIES = ['CHECKER_', 'IDENTITY_', 'PAYMENT_', 'WEBHOOK_', 'RATE_LIMIT_'];
/** Variables that Kubernetes and Docker set for a service of any name: `CHECKER_SERVICE_HOST`, `CHECKER_PORT_80_TCP_ADDR`. */
const OF_A_PLATFORM = /_SERVICE_(?:HOST|PORT)(?![A-Z0-9])|_PORT(?:$|_\d{1,5}_(?:TCP|UDP|SCTP))/;
/** Shorter names resemble too many others. */
const MIN_CHARS = 7;
const MAX_SLIPS = 2;
const MAX_NAME_CHARS = 64;

/** Returns a line for each misspelt variable, with the nearest setting. A setting that is set has no misspelt twin. */
export function misspelt(env: Readonly<Record<string, string | undefined>>, known: readonly string[]): string[] {
  const missing = known.filter((name) => !env[name]?.trim());
  const problems: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value?.trim() || known.includes(name)) continue;
    if (!/^[A-Z][A-Z0-9_]*$/.test(name) || name.length > MAX_NAME_CHARS || OF_A_PLATFORM.test(name)) continue;
    const meant = nearest(name, missing, MAX_SLIPS);
    if (meant !== null) problems.push(`${name} is no setting: did you mean ${meant}?`);
    else if (FAMILIES.some((family) => name.startsWith(family))) {
      const similar = nearest(name, known, Math.floor(name.length / 2));
      problems.push(`${name} is no setting${similar === null ? '' : `: did you mean ${similar}?`}`);
    }
  }
  return problems;
}

function nearest(name: string, names: readonly string[], max_slips: number): string | null {
  let found: string | null = null;
  let least = max_slips + 1;
  for (const one of names) {
    if (Math.min(one.length, name.length) < MIN_CHARS || Math.abs(one.length - name.length) >= least) continue;
    const slips = distance(name, one);
    if (slips < least) [found, least] = [one, slips];
  }
  return found;
}
