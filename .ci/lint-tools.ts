// The packages that lint alone needs, of a lockfile of their own in .ci: `npm ci` of the project does without. `node .ci/lint-tools.ts PROGRAM
// [WORD…]` installs them where they are missing or of another lockfile, and runs one of their programs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const FOLDER = import.meta.dirname;
const MODULES = join(FOLDER, 'node_modules');
/** Holds the lockfile that the packages were installed by. */
const INSTALLED = join(MODULES, '.installed-lock.json');

/** Installs the packages if need be. Returns an environment whose PATH has their programs. */
export function withLintTools(): NodeJS.ProcessEnv {
  const lock = readFileSync(join(FOLDER, 'package-lock.json'), 'utf8');
  if (!existsSync(INSTALLED) || readFileSync(INSTALLED, 'utf8') !== lock) {
    console.log('Installing what lint needs into .ci/node_modules');
    const words = ['ci', '--prefix', FOLDER, '--ignore-scripts', '--no-audit', '--no-fund'];
    const { status } = spawnSync('npm', words, { stdio: 'inherit' });
    if (status !== 0) {
      console.error('What lint needs could not be installed: npm says why above.');
      process.exit(1);
    }
    writeFileSync(INSTALLED, lock);
  }
  return { ...process.env, PATH: [join(MODULES, '.bin'), process.env.PATH].join(delimiter) };
}

if (import.meta.main) {
  const [program, ...words] = process.argv.slice(2);
  const { status } = spawnSync(program!, words, { env: withLintTools(), stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
