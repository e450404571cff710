// The command that prints a link which signs a browser in to this very service once.
import { isAbsolute, join, relative, resolve } from 'node:path';
import { readConfig } from '../../settings/config.ts';

/** The folder in which npm runs the project's commands, whatever folder the service was started in. */
const PROJECT = join(import.meta.dirname, '../..');
const DEFAULTS = readConfig({});
/** The npm package has this file without types, and none of npm's scripts. */
const COMMAND = import.meta.filename.endsWith('.js') ? 'npx url-checker token' : 'npm run -s token --';

/**
 * A command for a shell, to be given anywhere in the project. It names the folder and the address of the service where they are not the
 * defaults.
 */
export function linkCommand(data_dir: string, public_url: string): string {
  const inside = relative(PROJECT, resolve(data_dir));
  const folder = inside.startsWith('..') || isAbsolute(inside) ? resolve(data_dir) : inside || '.';
  const settings = [
    folder === join(DEFAULTS.data_dir) ? '' : `DATA_DIR=${quoted(folder)} `,
    public_url === DEFAULTS.public_url ? '' : `PUBLIC_URL=${quoted(public_url)} `,
  ];
  return `${settings.join('')}${COMMAND} --user alice --email alice@example.com --link`;
}

const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
