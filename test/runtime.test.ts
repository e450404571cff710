// A Node that is too old ends each program of package.json with one sentence, not with a stack.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';

const ROOT = join(import.meta.dirname, '..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** Tells the program that an older Node runs it. */
const OLD =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})';

for (const name of ['boot.js', 'runtime.js']) {
  test(`${name} names the Node that it needs and the one that there is`, async (t) => {
    const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      const args = ['--import', OLD, '--import', `./${name}`, '--eval', 'console.log(1)'];
      execFile(process.execPath, args, { cwd: ROOT }, (error, _stdout, errors) =>
        resolve({ code: error?.code ?? 0, stderr: errors }),
      );
    });
    t.is(code, 1);
    t.regex(stderr, /^This needs Node\.js 24 or later, and runs on 20\.20\.2\. [^\n]+\n$/);
  });
}

test('every program that users run looks at its Node first', (t) => {
  for (const name of ['start', 'demo', 'sample', 'check', 'token', 'backup', 'erase', 'ops', 'lint']) {
    t.regex(scripts[name]!, /--import \.\/(?:boot|runtime)\.js /, name);
  }
  t.is(scripts.pretest, 'node runtime.js');
});
