// The folder from which the user names files. npm runs its scripts in the project's folder; INIT_CWD is where the user stands.
import { join } from 'node:path';

const PACKAGE = join(import.meta.dirname, '..', 'package.json');

export function userFolder(): string {
  const { INIT_CWD, npm_package_json } = process.env;
  // Another project's npm may run this command too, in a folder that it has chosen.
  return INIT_CWD && npm_package_json === PACKAGE ? INIT_CWD : process.cwd();
}
