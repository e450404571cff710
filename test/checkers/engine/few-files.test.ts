// A machine that allows few open files: the engine closes idle connections, and every URL is checked.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { type Behaviour, html, page, startTestSite } from '../../support/test-site.ts';

const PROGRAM = `
  const { createEngine } = await import(${JSON.stringify(new URL('../../../checkers/engine/engine.ts', import.meta.url).href)});
  const engine = createEngine({ concurrency: 20, per_host: 8, host_gap_ms: 0, timeout_ms: 15000, retries: 2,
    allow_addresses: ['127.0.0.0/8'], user_agent: 'test' });
  const verdicts = {};
  for (let i = 0; i < 400; i += 40) {
    const urls = Array.from({ length: 40 }, (_, k) => 'http://127.0.' + ((i + k) >> 6) + '.' + (1 + ((i + k) & 63)) + ':' + process.argv[1] + '/fine');
    for (const { verdict } of await Promise.all(urls.map((url) => engine.check(url)))) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  }
  console.log(JSON.stringify(verdicts));
  await engine.close();
`;

test('the engine checks more hosts than it may have open files', async (t) => {
  const site = await startTestSite({ host: '0.0.0.0' });
  t.teardown(() => site.close());
  const limited = ['-c', 'ulimit -n 150 && exec "$0" --input-type=module -e "$1" "$2"'];
  const { stdout } = await promisify(execFile)('bash', [...limited, process.execPath, PROGRAM, String(site.port)]);
  t.deepEqual(JSON.parse(stdout), { ok: 400 });
});

const MANY = `
  const { createEngine } = await import(${JSON.stringify(new URL('../../../checkers/engine/engine.ts', import.meta.url).href)});
  const engine = createEngine({ concurrency: 256, per_host: 64, host_gap_ms: 0, timeout_ms: 15000, retries: 0,
    allow_addresses: ['127.0.0.0/8'], user_agent: 'test' });
  const found = {};
  const urls = Array.from({ length: 3000 }, (_, i) => 'http://127.0.' + (i % 16) + '.' + (1 + (i % 200)) + ':' + process.argv[1] + '/later/' + i);
  for (const { verdict, attempts } of await Promise.all(urls.map((url) => engine.check(url)))) {
    found[verdict + ' ' + attempts] = (found[verdict + ' ' + attempts] ?? 0) + 1;
  }
  console.log(JSON.stringify(found));
  await engine.close();
`;

test('requests beyond the open files wait, and succeed at their first attempt', async (t) => {
  t.timeout(300_000);
  const later: Behaviour = (_request, socket) => setTimeout(() => page(socket, html('Things', 'Things')), 50);
  const site = await startTestSite({ host: '0.0.0.0', behaviours: { '/later/*': later } });
  t.teardown(() => site.close());
  const limited = ['-c', 'ulimit -n 256 && exec "$0" --input-type=module -e "$1" "$2"'];
  const { stdout } = await promisify(execFile)('bash', [...limited, process.execPath, MANY, String(site.port)]);
  t.deepEqual(JSON.parse(stdout), { 'ok 1': 3000 });
});
