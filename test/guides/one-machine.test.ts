// The pages of one machine and of three: their settings are valid, and the unit starts what npm start does. What nginx, Caddy and systemd
// make of them is in `test/servers/reverse-proxies.test.ts`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { DEFAULT_LIMITS } from '../../intake/limits.ts';
import { SETTINGS } from '../../settings/config.ts';
import { ROLES } from '../../settings/table.ts';
import { codeBlocks, UNITS } from '../support/one-machine.ts';

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

for (const name of ['one-machine', 'three-machines']) {
  test(`the settings of ${name}.md exist`, (t) => {
    const names = [...read(`docs/guides/${name}.md`).matchAll(/^([A-Z][A-Z_]+)=/gm)].map(([, each]) => each!);
    t.true(names.length > 8);
    t.deepEqual(
      names.filter((each) => !(each in SETTINGS)),
      [],
    );
  });
}

test('no setting that the roles of a machine set for themselves is in the file that they share', (t) => {
  // systemd: a later EnvironmentFile wins, and any of them wins over Environment.
  const guide = read('docs/guides/three-machines.md');
  const [shared, own] = [
    /The same file on all three[\s\S]*?```shell\n([\s\S]*?)```/,
    /on a port of its own:\n\n```shell\n([\s\S]*?)```/,
  ];
  const names = (text: string) => new Set([...text.matchAll(/\b([A-Z][A-Z_]+)=/g)].map(([, name]) => name!));
  const by_role = [...own.exec(guide)![1]!.matchAll(/^echo METRICS_PORT=(\d+) > \/etc\/url-checker-(\w+)\.env$/gm)];
  t.deepEqual(by_role.map(([, , role]) => role).sort(), [...ROLES].sort());
  t.is(new Set(by_role.map(([, port]) => port)).size, ROLES.length);
  const shared_names = names(shared.exec(guide)![1]!);
  t.true(shared_names.has('EVENTSTORE_URL'));
  for (const own of ['METRICS_PORT', 'ROLES', 'DATA_DIR']) t.false(shared_names.has(own), own);
});

test('each role of a machine keeps its files where the unit may write', (t) => {
  const state = /^StateDirectory=(.+)$/m.exec(UNITS['url-checker.service'])![1];
  t.regex(UNITS['url-checker.service'], /^ProtectSystem=strict$/m);
  const drop_in = /role\.conf`:\n\n```ini\n([\s\S]*?)```/.exec(read('docs/guides/three-machines.md'))![1]!;
  t.true(drop_in.includes(`DATA_DIR=/var/lib/${state}/%i`), drop_in);
});

test('both proxies let the largest file through', (t) => {
  // Caddy's MB are millions of bytes, and nginx's m are MiB.
  const [caddy, nginx] = [/max_size (\d+)MiB/, /client_max_body_size (\d+)m;/].map((size, n) =>
    Number(size.exec(codeBlocks(n === 0 ? 'caddyfile' : 'nginx')[0]!)?.[1]),
  );
  for (const mib of [caddy, nginx]) t.true(mib! * 2 ** 20 > DEFAULT_LIMITS.max_file_bytes, `${mib} MiB`);
});

test('the unit starts what npm start does', (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const unit = UNITS['url-checker.service'];
  const environment = /^Environment=(.*)$/m.exec(unit)![1];
  const command = /^ExecStart=\/opt\/url-checker\/node_modules\/\.bin\/(.*)$/m.exec(unit)![1];
  t.is(`exec env ${environment} ${command}`, scripts.start!);
});

test('the program of the page runs a command with the user, the folder and the settings of the unit', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'one-machine-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const block = codeBlocks('shell').find((each) => each.includes('systemd-run'))!;
  const program = /<<'SH'\n([\s\S]*?)^SH$/m.exec(block)![1]!;
  await writeFile(join(folder, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const said = execFileSync('sh', ['-c', program, 'url-checker', 'backup', 'rehearse', 'a key'], {
    env,
    encoding: 'utf8',
  });
  const words = said.trimEnd().split('\n');
  t.deepEqual(words.slice(words.indexOf('--') + 1), ['npm', 'run', '-s', 'backup', '--', 'rehearse', 'a key']);
  const of_unit = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(UNITS['url-checker.service'])![1];
  t.true(words.includes(`--uid=${of_unit('User')}`));
  t.true(words.includes(`--working-directory=${of_unit('WorkingDirectory')}`));
  t.true(words.includes(`--property=EnvironmentFile=${of_unit('EnvironmentFile')}`));
});
