import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openIdentity } from '../../adapters/identity/index.ts';
import { runProgram } from '../support/run-program.ts';

let data_dir: string;
test.before(async () => void (data_dir = await mkdtemp(join(tmpdir(), 'token-'))));
test.after.always(() => rm(data_dir, { recursive: true }));

const run = (args: string[], env: Record<string, string> = {}) =>
  runProgram('token', args, { DATA_DIR: data_dir, ...env });

test('the command prints the token and nothing else', async (t) => {
  const { stdout, stderr, code } = await run([
    '--user',
    'alice',
    '--email',
    'A@example.com',
    '--admin',
    '--hours',
    '2',
  ]);
  t.deepEqual([code, stderr], [0, '']);
  t.regex(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const identity = await openIdentity({ local: data_dir });
  t.deepEqual(await identity.verify(stdout.trim()), { user_id: 'alice', email: 'a@example.com', is_admin: true });
});

const WRONG: [what: string, args: string[], env: Record<string, string>, message: RegExp][] = [
  ['without a user', [], {}, /--user must be/],
  ['with a user id with a space', ['--user', 'a b'], {}, /--user must be/],
  ['with an address that is none', ['--user', 'a', '--email', 'x'], {}, /--email must be/],
  ['for no time', ['--user', 'a', '--hours', '0'], {}, /--hours must be/],
  ['with an option that it does not have', ['--user', 'a', '--root'], {}, /--root/],
  ['with wrong settings', ['--user', 'a'], { PORT: 'x' }, /PORT is "x"/],
  [
    'where a provider issues tokens',
    ['--user', 'a'],
    { IDENTITY_JWKS_URL: 'https://id.example/jwks', IDENTITY_ISSUER: 'i', IDENTITY_AUDIENCE: 'a' },
    /IDENTITY_JWKS_URL is set/,
  ],
];
for (const [what, args, env, message] of WRONG) {
  test(`${what} the command says on stderr what is valid`, async (t) => {
    const { code, stdout, stderr } = await run(args, env);
    t.deepEqual([code, stdout], [2, '']);
    t.regex(stderr, message);
    t.regex(stderr, /usage: /);
  });
}

test('a DATA_DIR that cannot be written is named, in one line', async (t) => {
  const file = join(data_dir, 'file');
  await writeFile(file, '');
  const { code, stdout, stderr } = await run(['--user', 'a'], { DATA_DIR: join(file, 'data') });
  t.deepEqual([code, stdout], [2, '']);
  t.regex(stderr, /^DATA_DIR \/.*file\/data cannot be used, where the service keeps its key: .+\n$/);
});

for (const name of ['token', 'erase', 'backup', 'demo']) {
  test(`${name} --help prints how the command is called, and an unknown option too`, async (t) => {
    const help = await runProgram(name, ['--help'], { DATA_DIR: data_dir });
    t.deepEqual([help.code, help.stderr], [0, '']);
    t.regex(help.stdout, new RegExp(`^usage: npm run ${name}`));
    const { code, stdout, stderr } = await runProgram(name, ['--no-such'], { DATA_DIR: data_dir });
    t.deepEqual([code, stdout], [2, '']);
    t.regex(stderr, new RegExp(`^[^\\n]*--no-such[^\\n]*\\nusage: npm run ${name}`));
  });
}

test('erase makes no log where there is none', async (t) => {
  const { code, stderr } = await runProgram('erase', ['--user', 'alice'], { DATA_DIR: data_dir });
  t.is(code, 2);
  t.is(stderr, `there is no event log at ${join(data_dir, 'events.db')}\n`);
  t.false(existsSync(join(data_dir, 'events.db')));
});
