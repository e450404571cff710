// Checks what `npm ci` and lint install: every package of the lockfiles names its file at the registry and the file's hash, and every licence in the
// bill of materials of what is shipped (`npm sbom`, CycloneDX) is one that it may be shipped with. With a path, writes the bill there.
// Decision 122 says why.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that ask for a notice at most. */
const ALLOWED = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'Unlicense',
]);
interface Locked {
  link?: boolean;
  resolved?: string;
  integrity?: string;
}
interface Component {
  name: string;
  version: string;
  licenses?: { expression?: string; license?: { id?: string; name?: string } }[];
}

const root = join(import.meta.dirname, '..');
const locked = ['package-lock.json', '.ci/package-lock.json'].flatMap((file) => {
  const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { packages: Record<string, Locked> };
  return Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);
});
const problems: string[] = [];
for (const [path, { resolved, integrity }] of locked) {
  if (!resolved?.startsWith('https://registry.npmjs.org/'))
    problems.push(`${path}: resolved is ${resolved ?? 'missing'}`);
  if (!integrity?.startsWith('sha512-')) problems.push(`${path}: integrity is ${integrity ?? 'missing'}`);
}

const bill = execFileSync('npm', ['sbom', '--omit', 'dev', '--sbom-format', 'cyclonedx'], {
  ...{ cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
});
const { components } = JSON.parse(bill) as { components: Component[] };
for (const { name, version, licenses = [] } of components) {
  const named = licenses
    .map(({ expression, license }) => expression ?? license?.id ?? license?.name ?? '')
    .join(' AND ');
  if (!isAllowed(named)) problems.push(`${name}@${version}: its licence is ${named || 'not named'}`);
}
const to = process.argv[2];
if (to !== undefined) writeFileSync(to, bill);
for (const problem of problems) console.error(problem);
console.log(`supply chain: ${locked.length} locked, ${components.length} in the bill, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** Of alternatives one has to be allowed, of licences that hold together all. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replaceAll('(', '').replaceAll(')', '').split(' OR ');
  return alternatives.some((each) => each.split(' AND ').every((license) => ALLOWED.has(license.trim())));
}
