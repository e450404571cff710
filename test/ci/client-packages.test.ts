// The clients, from their packages in empty folders, against a running service.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { MODELS } from '../../.ci/client-models.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

const ROOT = join(import.meta.dirname, '../..');
let folder: string;
let service: TestService;
let site: Site;
let env: Record<string, string>;
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clients-'));
  service = await startTestService();
  site = await openSite();
  const { token } = await service.keyHolder('alice');
  env = { BASE_URL: service.url, API_KEY: token, SITE: site.url };
  const [tarball, wheel] = (await run(process.execPath, [join(ROOT, '.ci/pack-client.ts'), folder])).trim().split('\n');
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  // Without a registry: the packages need no others.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball!]);
  await run('python3', ['-m', 'pip', 'install', '-q', '--no-index', '--no-deps', '--target', 'python', wheel!]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(program: string, args: readonly string[]): Promise<string> {
  const more = { ...env, PYTHONPATH: join(folder, 'python'), PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await exited;
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${code}\n${out}\n${err}`);
  return out;
}

test('the models are those of the document', async (t) => {
  for (const [path, wanted] of Object.entries(MODELS)) {
    t.is(await readFile(join(ROOT, path), 'utf8'), wanted, `${path}: run node .ci/client-models.ts`);
  }
});

const WANTED = [
  ['ok', 'a'],
  ['broken', null],
];

/** Signed with the secret, now, and long ago. */
function signatures(): string[] {
  return [Date.now(), 0].map((at) => {
    const t_s = Math.floor(at / 1000);
    return `t=${t_s},v1=${'0'.repeat(64)},v1=${createHmac('sha256', 'whsec_x').update(`${t_s}.{}`).digest('hex')}`;
  });
}

test('the TypeScript package submits, waits, reads everything, and verifies webhooks', async (t) => {
  await writeFile(
    join(folder, 'program.ts'),
    `import { ApiError, isWebhookSigned, type UrlResult, UrlChecker } from 'url-checker-client';
    const { BASE_URL, API_KEY, SITE } = process.env as Record<string, string>;
    let sent = 0;
    const flaky: typeof fetch = async (...args) => {
      // The first answer is lost.
      const answer = await fetch(...args);
      if (sent++ === 0) throw new TypeError('lost');
      return answer;
    };
    const checker = new UrlChecker({ base_url: BASE_URL!, api_key: API_KEY!, fetch: flaky });
    const job = await checker.submit([{ url: SITE + '/a', ref: 'a' }, SITE + '/status/404', 'no url'], { label: 'ts' });
    const stopped = await checker.wait(job.job_id, { poll_ms: 20 });
    const results: UrlResult[] = await Array.fromAsync(checker.results(job.job_id));
    const rejected = await Array.fromAsync(checker.rejected(job.job_id));
    const jobs = await Array.fromAsync(checker.jobs({ label: 'ts' }));
    const csv = await (await checker.export(job.job_id, { status_codes: '404,410' })).text();
    const code = await checker.job('none').catch((error) => (error instanceof ApiError ? error.code : 'wrong'));
    const signed = await Promise.all(${JSON.stringify(signatures())}.map((header) => isWebhookSigned('{}', header, 'whsec_x')));
    console.log(JSON.stringify([stopped.status, results.map(({ verdict, ref }) => [verdict, ref ?? null]), rejected.length, jobs.length, csv.split('\\n').length, code, signed]));`,
  );
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const types = [
    '--noEmit',
    '--strict',
    '--target',
    'esnext',
    '--module',
    'nodenext',
    '--skipLibCheck',
    '--types',
    'node',
  ];
  await run(process.execPath, [tsc, ...types, '--typeRoots', join(ROOT, 'node_modules/@types'), 'program.ts']);
  const said = JSON.parse(await run(process.execPath, ['program.ts']));
  t.deepEqual(said, ['completed', WANTED, 1, 1, 3, 'not_found', [true, false]]);
});

test('the Python package does the same', async (t) => {
  await writeFile(
    join(folder, 'program.py'),
    `import json, os
from url_checker_client import ApiError, UrlChecker, is_webhook_signed
checker = UrlChecker(os.environ["BASE_URL"], os.environ["API_KEY"])
site = os.environ["SITE"]
job = checker.submit([{"url": site + "/a", "ref": "a"}, site + "/status/404", "no url"], label="py")
stopped = checker.wait(job["job_id"], timeout_s=250, poll_s=0.2)
results = list(checker.results(job["job_id"]))
rejected = list(checker.rejected(job["job_id"]))
jobs = list(checker.jobs(label="py"))
checker.export(job["job_id"], "py.csv", status_codes=[404, 410])
csv = open("py.csv", newline="").read()
try:
    code = checker.job("none")["status"]
except ApiError as error:
    code = error.code
signed = [is_webhook_signed(b"{}", header, "whsec_x") for header in ${JSON.stringify(signatures())}]
print(json.dumps([stopped["status"], [[one["verdict"], one.get("ref")] for one in results], len(rejected), len(jobs), len(csv.split("\\n")), code, signed]))
`,
  );
  t.deepEqual(JSON.parse(await run('python3', ['program.py'])), [
    'completed',
    WANTED,
    1,
    1,
    3,
    'not_found',
    [true, false],
  ]);
});

/** What stands before the service: an answer that is cut off, one with a date to wait for, one in words of its own; then the service answers. */
const BEFORE_IT: readonly ((response: ServerResponse) => void)[] = [
  (response) => {
    response.writeHead(200, { 'content-length': '100' }).flushHeaders();
    response.write('{', () => response.destroy());
  },
  (response) => response.writeHead(503, { 'retry-after': new Date().toUTCString() }).end('{"error":"Bad gateway"}'),
  (response) => response.writeHead(502).end('<h1>Bad gateway</h1>'),
  (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"credit_balance":7}'),
];

test('both clients ask again where what stands before the service fails in its own way', async (t) => {
  const answers: Record<string, number> = {};
  const site = await openSite((request, response) => {
    const client = request.url!.split('/')[1]!;
    answers[client] = (answers[client] ?? -1) + 1;
    BEFORE_IT[answers[client]]!(response);
  });
  t.teardown(() => site.close());
  await writeFile(
    join(folder, 'away.ts'),
    `import { UrlChecker } from 'url-checker-client';
    console.log((await new UrlChecker({ base_url: '${site.url}/ts', api_key: 'k' }).usage()).credit_balance);`,
  );
  await writeFile(
    join(folder, 'away.py'),
    `from url_checker_client import UrlChecker
print(UrlChecker("${site.url}/py", "k").usage()["credit_balance"])`,
  );
  t.deepEqual(await Promise.all([run(process.execPath, ['away.ts']), run('python3', ['away.py'])]), ['7\n', '7\n']);
  t.deepEqual(answers, { ts: 3, py: 3 });
});

test('the Python client begins an export again that was cut off', async (t) => {
  const whole = gzipSync('url\nhttp://a.example/\n');
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('url\n', () => response.destroy());
    },
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(whole.subarray(0, -9)),
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(whole),
  ];
  const site = await openSite((_request, response) => answers.shift()!(response));
  t.teardown(() => site.close());
  await writeFile(
    join(folder, 'export.py'),
    `from url_checker_client import UrlChecker
UrlChecker("${site.url}", "k").export("1", "cut.csv")
print(open("cut.csv").read(), end="")`,
  );
  t.is(await run('python3', ['export.py']), 'url\nhttp://a.example/\n');
  t.is(answers.length, 0);
});

test('the Python client reads the error of a packed answer, and asks once for a file that it cannot write', async (t) => {
  const error = {
    code: 'invalid_request',
    message: 'No.',
    details: [{ path: 'body/urls', message: 'x'.repeat(2_000) }],
  };
  let asked = 0;
  const site = await openSite((request, response) => {
    asked++;
    if (request.url!.includes('export')) return void response.end('url\n');
    const packed = gzipSync(JSON.stringify({ error }));
    response.writeHead(422, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(packed);
  });
  t.teardown(() => site.close());
  await writeFile(
    join(folder, 'errors.py'),
    `from url_checker_client import ApiError, UrlChecker
client = UrlChecker("${site.url}", "k")
try:
    client.usage()
except ApiError as error:
    print(error.status, error.code, len(error.details))
try:
    client.export("1", "no/such/folder.csv")
except FileNotFoundError:
    print("no file")`,
  );
  t.is(await run('python3', ['errors.py']), '422 invalid_request 1\nno file\n');
  t.is(asked, 2);
});
