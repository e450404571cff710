// The pages of one machine and of three: their settings are valid, and the unit starts what npm start does. What nginx, Caddy and systemd
// make of them is in `test/servers/reverse-proxies.test.ts`.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { DEFAULT_LIMITS } from '../../intake/limits.ts';
import { SETTINGS } from '../../settings/config.ts';
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
