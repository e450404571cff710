// Generates clients from the documents of a running service with five generators, compiles each, and runs a program with it
// against that service, and one with the Python SDK of MCP; builds, lints and runs the node of n8n: `node .ci/clients.ts TOOLS [NAME…]`, where
// TOOLS has what .ci/run installs from test/clients. Names choose some of them. Decision 55 says why.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { startServiceProcess } from '../test/support/service-process.ts';
import { openSite } from '../test/support/sites.ts';

const AT_ONCE = 2;
const root = join(import.meta.dirname, '..');
const programs = join(root, 'test/clients/programs');
const [tools_folder, ...only] = process.argv.slice(2);
const tools = resolve(tools_folder!);
const npm = (name: string) => join(tools, 'node_modules/.bin', name);
const python = (name: string) => join(tools, 'python/bin', name);
const tsc = join(root, 'node_modules/.bin/tsc');

interface Client {
  /** The generator, and the folder that it works in. */
  name: string;
  /** Of `programs`. */
  files: string[];
  /** A package of the project that is built and run, in place of a generated client. */
  package?: string;
  steps: [program: string, ...args: string[]][];
}

const JAVA_PACKAGE = 'packageName=generated_client';
/** The slowest first. */
const CLIENTS: Client[] = [
  {
    name: 'openapi-generator',
    files: ['openapi-generator.py'],
    steps: [
      [python('openapi-generator-cli'), 'generate', '-g', 'python', '-i', 'v2.json', '-o', '.', '-p', JAVA_PACKAGE],
      [python('python'), '-m', 'compileall', '-q', 'generated_client'],
      [python('python'), 'openapi-generator.py'],
    ],
  },
  {
    name: 'oapi-codegen',
    files: ['go'],
    steps: [
      [
        join(tools, 'bin/oapi-codegen'),
        '-package=checker',
        '-generate=types,client',
        '-o=go/checker/checker.go',
        'v2.json',
      ],
      ['go', 'build', '-C', 'go', '-o', '../program', '.'],
      ['./program'],
    ],
  },
  {
    name: 'openapi-typescript',
    files: ['openapi-fetch.ts', 'tsconfig.json'],
    steps: [
      [npm('openapi-typescript'), 'v2.json', '--output', 'schema.ts'],
      [npm('openapi-typescript'), 'gateway.json', '--output', 'gateway.ts'],
      [tsc, '-p', '.'],
      [process.execPath, 'openapi-fetch.ts'],
    ],
  },
  {
    name: '@hey-api/openapi-ts',
    files: ['hey-api.ts', 'openapi-ts.config.js', 'tsconfig.json'],
    steps: [
      [npm('openapi-ts'), '--no-log-file'],
      [tsc, '-p', '.'],
      [process.execPath, 'hey-api.ts'],
    ],
  },
  {
    name: 'openapi-python-client',
    files: ['openapi-python-client.py', 'openapi-python-client.yml'],
    steps: [
      [
        ...([python('openapi-python-client'), 'generate', '--path', 'v2.json', '--config'] as const),
        ...['openapi-python-client.yml', '--meta', 'none', '--output-path', 'checker_client', '--fail-on-warning'],
      ],
      [python('python'), '-m', 'compileall', '-q', 'checker_client'],
      [python('python'), 'openapi-python-client.py'],
    ],
  },
  {
    name: 'n8n',
    files: [],
    package: 'clients/n8n',
    steps: [
      [npm('n8n-node'), 'build'],
      [npm('n8n-node'), 'lint'],
      [process.execPath, join(programs, 'n8n.mjs')],
    ],
  },
  // Nothing is generated: the tools of agents have their schemas with them. Their guide has a program of its own.
  {
    name: 'mcp',
    files: ['mcp-client.py'],
    steps: [
      [python('python'), 'mcp-client.py'],
      ['sh', '-c', '[ "$(API_KEY=$TEST_KEY "$0" mcp-guide.py)" = "$(cat mcp-guide.txt)" ]', python('python')],
    ],
  },
];

const work = mkdtempSync(join(tmpdir(), 'clients-'));
const data_dir = join(work, 'data');
const site = await openSite();
const service = await startServiceProcess({ DATA_DIR: data_dir, CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' });
try {
  const document = async (path: string) => await (await fetch(service.url + path)).text();
  const documents = {
    'v2.json': await document('/api/v2/openapi.json'),
    'gateway.json': await document('/openapi.json'),
    ...programOfGuide(),
  };
  const [API_KEY, TEST_KEY] = [await newKey({}), await newKey({ test: true })];
  const env = { API_URL: service.url, HOST: service.url, API_KEY, TEST_KEY, SITE_URL: site.url };
  const waiting = CLIENTS.filter(({ name }) => only.length === 0 || only.includes(name)).values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const client of waiting) await tryOut(client, documents, env);
    }),
  );
} finally {
  await service.stop();
  await site.close();
  rmSync(work, { recursive: true, force: true });
}

/** The program in Python, and what it prints. */
function programOfGuide(): Record<string, string> {
  const guide = readFileSync(join(root, 'docs/guides/mcp.md'), 'utf8');
  const [, program, printed] = /```python\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(guide)!;
  return { 'mcp-guide.py': program!, 'mcp-guide.txt': printed! };
}

async function newKey(described: object): Promise<string> {
  const user = { user_id: 'clients', email: 'clients@example.com', is_admin: false, hours: 1 };
  const authorization = `Bearer ${await issueLocalToken(data_dir, user)}`;
  const response = await fetch(`${service.url}/users/me/api-keys`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(described),
  });
  return ((await response.json()) as { key: string }).key;
}

async function tryOut(
  { name, files, steps, package: source }: Client,
  documents: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = join(work, basename(name));
  mkdirSync(folder);
  if (source) cpSync(join(root, source), folder, { recursive: true });
  else prepare(folder, files, documents);
  symlinkSync(join(tools, 'node_modules'), join(folder, 'node_modules'));
  const seconds: string[] = [];
  for (const [program, ...args] of steps) {
    const began_at = performance.now();
    const child = spawn(program, args, {
      cwd: folder,
      // Nothing is written beside the folder, and the generators report to nobody.
      env: {
        ...process.env,
        ...env,
        PYTHONPATH: folder,
        PYTHONPYCACHEPREFIX: join(folder, 'pycache'),
        DO_NOT_TRACK: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const failed = new Promise<string | null>((done) => {
      child.once('error', ({ message }) => done(message));
      child.once('exit', (code) => done(code === 0 ? null : `exit code ${code}`));
    });
    const said = await Promise.all([text(child.stdout), text(child.stderr)]);
    const failure = await failed;
    if (failure !== null) {
      console.log(`${name}: ${[basename(program), ...args].join(' ')}: ${failure}\n${said.join('\n')}`);
      process.exitCode = 1;
      return;
    }
    seconds.push(`${basename(program)} ${((performance.now() - began_at) / 1000).toFixed(1)} s`);
  }
  console.log(`${name}: ${seconds.join(', ')}`);
}

function prepare(folder: string, files: readonly string[], documents: Readonly<Record<string, string>>): void {
  for (const [file, content] of Object.entries(documents)) writeFileSync(join(folder, file), content);
  for (const file of files) cpSync(join(programs, file), join(folder, file), { recursive: true });
  mkdirSync(join(folder, 'go/checker'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
}
