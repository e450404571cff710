// The npm package, from its tarball in an empty folder: it installs alone and small, checks, has types, and says what the service needs.
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { openSite } from '../support/sites.ts';

const ROOT = join(import.meta.dirname, '../..');
const MOST_BYTES = 10 * 1024 * 1024;
/** `NODE_22_BIN` is Node 22, which the gate fetches. */
const NODES = [process.execPath, ...(process.env.NODE_22_BIN ? [process.env.NODE_22_BIN] : [])];

let folder: string;
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'package-'));
  const { out } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT });
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  // Without a registry: the package needs no other.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, out.trim())], {});
});
test.after.always(() => rm(folder, { recursive: true, force: true }));

async function run(program: string, args: readonly string[], options: { cwd?: string; code?: number; env?: object }) {
  const { cwd = folder, code = 0 } = options;
  const env = {
    ...process.env,
    ...options.env,
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    DATA_DIR: join(folder, 'data'),
  };
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = await exited;
  if (ended !== code) throw new Error(`${program} ${args.join(' ')}: ${ended}\n${out}\n${err}`);
  return { out, err };
}
const command = (node: string, args: readonly string[], code: number) =>
  run(node, [join(folder, 'node_modules/url-checker/dist/cli/package.js'), ...args], { code });

test('it installs alone, and is small', async (t) => {
  t.deepEqual(
    (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.')),
    ['url-checker'],
  );
  const root = join(folder, 'node_modules/url-checker');
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const sizes = files
    .filter((file) => file.isFile())
    .map(async (file) => (await stat(join(file.parentPath, file.name))).size);
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  t.true(bytes < MOST_BYTES, `${bytes} bytes`);
});

for (const node of NODES) {
  test(`${node === process.execPath ? 'this Node' : 'Node 22'} runs its checker and its library`, async (t) => {
    const site = await openSite((request, response) => response.writeHead(request.url === '/gone' ? 404 : 200).end());
    try {
      const { out } = await command(node, ['check', `${site.url}/gone`, '--format', 'json'], 1);
      t.like(JSON.parse(out).results?.[0], { verdict: 'broken', status_code: 404 });
      const program = `import { createEngine, DEFAULT_SETTINGS } from 'url-checker';
        const engine = createEngine({ ...DEFAULT_SETTINGS, allow_addresses: ['127.0.0.0/8'] });
        console.log((await engine.check('${site.url}/gone')).verdict);
        await engine.close();`;
      t.is((await run(node, ['--input-type=module', '--eval', program], {})).out, 'broken\n');
    } finally {
      await site.close();
    }
  });
}

test('on a Node that is too old it says so in one sentence', async (t) => {
  const old =
    'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"22.14.9"}})';
  const program = join(folder, 'node_modules/url-checker/dist/cli/package.js');
  const { err } = await run(process.execPath, ['--import', old, program, 'check', 'https://a.example/'], { code: 2 });
  t.is(err, 'url-checker check needs Node.js 22.15 or later, and runs on 22.14.9.\n');
  const serve = await run(process.execPath, ['--import', old, program, 'serve'], { code: 2 });
  t.is(serve.err, 'url-checker serve needs Node.js 24 or later, and runs on 22.14.9.\n');
});

test('with the packages of the service, the command that its console names signs in', async (t) => {
  const served = join(folder, 'served/app/node_modules/url-checker');
  await cp(join(folder, 'node_modules/url-checker'), served, { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'served/node_modules'));
  const program = `import { linkCommand } from '${served}/service/http/console/link-command.js';
    console.log(linkCommand('/srv/data', 'http://127.0.0.1:8080'));`;
  const { out } = await run(process.execPath, ['--input-type=module', '--eval', program], {});
  const [, words] = /^DATA_DIR=\/srv\/data npx url-checker (token .*--link)\n$/.exec(out) ?? [];
  const link = await run(process.execPath, [join(served, 'dist/cli/package.js'), ...(words ?? out).split(' ')], {});
  t.regex(link.out, /^http:\/\/127\.0\.0\.1:8080\/console\/sign-in#eyJ\S+\n$/);
});

test('behind npm run pack, which has made it, postpack makes no second one', async (t) => {
  const place = await mkdtemp(join(folder, 'packed-'));
  const env = { npm_lifecycle_event: 'postpack', npm_command: 'run-script' };
  await run(process.execPath, [join(ROOT, '.ci/pack.ts'), place], { env });
  t.deepEqual(await readdir(place), []);
});

test('where it cannot be written, one sentence says so', async (t) => {
  const place = join(folder, 'package.json', 'packages');
  for (const name of ['pack', 'pack-client']) {
    const { out, err } = await run(process.execPath, [join(ROOT, `.ci/${name}.ts`), place], { code: 1 });
    t.is(out, '');
    t.regex(err, /^The package cannot be written into .*package\.json\/packages: .*\. Name another folder\.\n$/);
  }
});

test('what needs the packages of the service names them', async (t) => {
  const { err } = await command(process.execPath, ['serve'], 1);
  t.regex(err, /`url-checker serve` runs the service, whose packages are optional\..*\nnpm install .*'koa@\^3/);
  t.regex((await command(process.execPath, ['nothing'], 2)).err, /^There is no command nothing\.\nusage: /);
});

test('its types say what the library takes and gives', async (t) => {
  const lines = [
    "import { createEngine, DEFAULT_SETTINGS, type Outcome } from 'url-checker';",
    'const engine = createEngine({ ...DEFAULT_SETTINGS, per_host: 4 });',
    "const outcome: Outcome = await engine.check('https://example.com/');",
    "export const right: 'ok' | 'redirected' | 'broken' | 'soft_404' | 'blocked' | 'unreachable' = outcome.verdict;",
    '// @ts-expect-error: it is a number or null',
    'export const wrong: string = outcome.status_code;',
  ];
  await writeFile(join(folder, 'program.ts'), lines.join('\n'));
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--ignoreConfig',
  ];
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await t.notThrowsAsync(run(process.execPath, [tsc, ...options, 'program.ts'], {}));
});
