// Uploads with an idempotency key: a client whose answer was lost sends its file again, and has one job, charged once.
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import type { RecordedEvent } from '../../events/event-store.ts';
import { openBehind, until } from '../support/behind.ts';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([startTestService({ SIGNUP_CREDITS: '300' }), openSite()]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

const newcomer = () => service.client(`user-${randomUUID()}`);
const csv = (count: number, name = 'link') =>
  `id,${name},referrer\n${Array.from({ length: count }, (_, n) => `${n},${site.url}/${n},${site.url}/r${n}`).join('\n')}\n`;
const KEY = { 'idempotency-key': 'k' };
const upload = (
  client: TestClient,
  content: string,
  query = '',
  filename = 'urls.csv',
  headers: Record<string, string> = KEY,
) => client.upload(content, query, filename, headers);

async function assertOneJob(t: { is(a: unknown, b: unknown): unknown }, client: TestClient, cost: number) {
  const { body } = await client.ask('GET', '/users/me/credit-transactions');
  const reserved = body.items.filter((one: { transaction_type: string }) => one.transaction_type === 'reservation');
  t.is(reserved.length, 1);
  t.is(reserved[0].amount, -cost);
}

async function keyEvents(user_id: string): Promise<RecordedEvent[]> {
  const behind = await openBehind(service.data_dir);
  const events = await Array.fromAsync(behind.log.readAll({ filter: { categories: ['idempotency'] } }));
  await behind.close();
  return events.filter(({ metadata }) => metadata.actor === `user:${user_id}`);
}

test('concurrent uploads with one key make one job, and a later one gets the whole first answer', async (t) => {
  const client = await newcomer();
  const content = csv(30);
  const answers = await Promise.all(Array.from({ length: 8 }, () => upload(client, content)));
  const made = answers.filter(({ status }) => status === 201);
  for (const { status, body, headers } of answers.filter((answer) => !made.includes(answer))) {
    t.deepEqual([status, body.code], [409, 'idempotency_in_progress']);
    t.true(Number(headers.get('retry-after')) >= 1);
  }
  const [first] = made.filter(({ headers }) => headers.get('idempotency-replayed') === null);
  const again = await upload(client, content);
  t.deepEqual([again.status, again.headers.get('idempotency-replayed')], [201, 'true']);
  t.deepEqual(again.body, first!.body);
  t.like(again.body, { filename: 'urls.csv', list: { column: { letter: 'B', name: 'link' } } });
  t.is(again.headers.get('location'), `/jobs/${again.body.job_id}`);
  for (const { body } of made) t.deepEqual(body, first!.body);
  await assertOneJob(t, client, 30);
});

test('a client that leaves before its answer gets it, or makes the job, when it sends the file again', async (t) => {
  const client = await newcomer();
  const form = new FormData();
  form.append('file', new Blob([csv(20)]), 'urls.csv');
  const sent = new Request(service.url, { method: 'POST', body: form });
  const headers = {
    ...KEY,
    authorization: `Bearer ${client.token}`,
    'content-type': sent.headers.get('content-type')!,
  };
  const body = Buffer.from(await sent.arrayBuffer());
  const first = request(`${service.url}/jobs`, { method: 'POST', headers });
  first.on('error', () => {});
  await new Promise<void>((resolve) => first.end(body, resolve));
  first.destroy();
  let answer = await client.send('/jobs', { method: 'POST', headers, body });
  await until(async () => {
    if (answer.status === 201) return true;
    t.is(answer.body.code, 'idempotency_in_progress');
    answer = await client.send('/jobs', { method: 'POST', headers, body });
    return false;
  });
  t.is(answer.body.list.column.name, 'link');
  await assertOneJob(t, client, 20);
});

test('another file, name or parameter under the key is refused; another form around the same file is not', async (t) => {
  const client = await newcomer();
  const content = csv(2);
  const query = '?column=B&skip_invalid=false';
  const { status, body: job } = await upload(client, content, query);
  t.is(status, 201);
  for (const answer of [
    await upload(client, csv(3), query),
    await upload(client, content, query, 'other.csv'),
    await upload(client, content, '?column=C&skip_invalid=false'),
    await upload(client, content, '?column=B'),
  ]) {
    t.deepEqual([answer.status, answer.body.code], [409, 'idempotency_key_mismatch']);
  }
  const boundary = 'another';
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="sheet"; filename="urls.csv"\r\n\r\n`;
  const same = await client.send('/jobs?skip_invalid=false&column=B&skip_blocked=true', {
    method: 'POST',
    headers: { ...KEY, 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-encoding': 'gzip' },
    body: gzipSync(`${head}${content}\r\n--${boundary}--\r\n`),
  });
  t.deepEqual([same.status, same.body], [201, job]);
  await assertOneJob(t, client, 2);
});

test('equal keys of different users are independent, and so is an upload without a key', async (t) => {
  const [alice, bob] = await Promise.all([newcomer(), newcomer()]);
  const content = csv(1);
  const answers = [
    await upload(alice, content),
    await upload(bob, content),
    await upload(alice, content, '', 'urls.csv', {}),
  ];
  t.is(new Set(answers.map(({ body }) => body.job_id)).size, 3);
  for (const { headers } of answers) t.is(headers.get('idempotency-replayed'), null);
});

test('a refused upload leaves its key for the next one, and no trace where its file was not read', async (t) => {
  const client = await service.client('refused');
  const plain = { method: 'POST', headers: { ...KEY, 'content-type': 'text/plain' }, body: 'url' };
  t.is((await client.send('/jobs', plain)).status, 415);
  t.is((await upload(client, csv(1), `?column=${'x'.repeat(256)}`)).status, 422);
  t.is((await upload(client, csv(1), '', 'urls.csv', { 'idempotency-key': 'x'.repeat(256) })).status, 422);
  t.deepEqual(await keyEvents('refused'), []);
  t.is((await upload(client, 'link\nsee below\n')).status, 422);
  const { status, headers } = await upload(client, csv(3));
  t.deepEqual([status, headers.get('idempotency-replayed')], [201, null]);
  await assertOneJob(t, client, 3);
});

test('the log keeps neither the name of the file nor those of its columns with the answer', async (t) => {
  const client = await service.client('private');
  const { body } = await upload(client, csv(2, 'salaries of ada'), '?column=B', 'ada lovelace.csv');
  t.like(body, { filename: 'ada lovelace.csv', list: { column: { name: 'salaries of ada' } } });
  const answered = await keyEvents('private');
  t.deepEqual(
    answered.map(({ type }) => type),
    ['RequestClaimed', 'RequestAnswered'],
  );
  t.notRegex(JSON.stringify(answered), /lovelace|salaries/);
});
