#!/usr/bin/env node
// `url-checker COMMAND`, the program of the npm package. `check` and `mcp` come with it; the service's commands need Node 24 and its packages.
// Decision 165 says why.
import { readFileSync } from 'node:fs';

const USAGE = `usage: url-checker COMMAND [OPTIONS]

  check INPUT...   check the URLs of files, folders or arguments: url-checker check --help
  mcp              serve an assistant over standard input and output: url-checker mcp --help
  serve            run the service; its settings are environment variables
  demo             run the service with a sample website, and check a file
  token            print a token, or with --link a link that signs a browser in
  backup COMMAND   make, verify and restore backups
  erase            erase a user
  ops COMMAND      the operators' commands: url-checker ops --help
`;
const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  check: () => import('./check.ts'),
  mcp: () => import('./mcp.ts'),
  serve: () => ofService('main.js'),
  demo: () => ofService('cli/demo.js'),
  token: () => ofService('cli/token.js'),
  backup: () => ofService('cli/backup.js'),
  erase: () => ofService('cli/erase.js'),
  ops: () => ofService('cli/ops.js'),
};

const [name = '--help', ...words] = process.argv.slice(2);
/** For most commands what `engines` of the package says, of which npm only warns. */
const LEAST_NODE: readonly number[] = ['check', 'mcp'].includes(name) ? [22, 15] : [24];
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (name === '--help' || name === '-h') process.stdout.write(USAGE);
else if (name === '--version') process.stdout.write(`${read().version}\n`);
else if (!command) {
  process.stderr.write(`There is no command ${name}.\n${USAGE}`);
  process.exitCode = 2;
} else if (isOld()) {
  process.stderr.write(
    `url-checker ${name} needs Node.js ${LEAST_NODE.join('.')} or later, and runs on ${process.versions.node}.\n`,
  );
  process.exitCode = 2;
} else {
  // Each command reads its own words.
  process.argv.splice(2, process.argv.length, ...words);
  await command().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.startsWith('Cannot find package')) throw error;
    const packages = Object.entries(read().peerDependencies).map(
      ([package_name, version]) => `'${package_name}@${version}'`,
    );
    process.stderr.write(
      `${error.message.split('\n')[0]}\n\`url-checker ${name}\` runs the service, whose packages are optional. Install them beside it:\n` +
        `npm install ${packages.join(' ')}\n`,
    );
    process.exitCode = 1;
  });
}

function isOld(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [least_major = 0, least_minor = 0] = LEAST_NODE;
  return major < least_major || (major === least_major && minor < least_minor);
}

async function ofService(path: string): Promise<void> {
  const tree = new URL('../../service/', import.meta.url);
  await import(new URL('boot.js', tree).href);
  await import(new URL(path, tree).href);
}

function read(): { version: string; peerDependencies: Record<string, string> } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
}
