// Replies about a job are made once for each of its states.
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import test from 'ava';
import { Type } from '../../../../events/schema.ts';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { JsonText } from '../../../../http/frame/answers/json-text.ts';
import { openKeptReplies } from '../../../../http/frame/answers/kept-replies.ts';
import { type Reply, routeOf } from '../../../../http/frame/route.ts';
import { startSample } from '../../sample-app.ts';

const JOB = { _id: 'job', position: '0001' };
const textOf = ({ body }: Reply) => (body as JsonText).bytes.toString();

function counting(readmodels = { flips: 0, position: async () => '0001' }) {
  const kept = openKeptReplies(readmodels);
  let made = 0;
  const ask = (job = JOB, name = 'stats') => kept.of(job, name, async () => ({ body: { made: ++made } }));
  return { kept, ask, made: () => made };
}

test('a reply is made once for a position of its job, by name, and again when the position moves', async (t) => {
  const { ask } = counting();
  t.is(textOf(await ask()), '{"made":1}');
  t.is(textOf(await ask()), '{"made":1}');
  t.is(textOf(await ask(JOB, 'options')), '{"made":2}');
  t.is(textOf(await ask({ ...JOB, _id: 'other' })), '{"made":3}');
  t.is(textOf(await ask({ ...JOB, position: '0002' })), '{"made":4}');
  t.is(textOf(await ask({ ...JOB, position: '0002' })), '{"made":4}');
});

test('a rebuilt read model invalidates replies at the same position', async (t) => {
  const readmodels = { flips: 0, position: async () => '0001' };
  const { ask } = counting(readmodels);
  await ask();
  readmodels.flips = 1;
  t.is(textOf(await ask()), '{"made":2}');
});

test('what several jobs say is made again when the read models have moved', async (t) => {
  let position = '0001';
  const { kept } = counting({ flips: 0, position: async () => position });
  let made = 0;
  const ask = (name: string) => kept.ofJobs(name, async () => ({ body: { made: ++made } }));
  t.is(textOf(await ask('of alice')), '{"made":1}');
  t.is(textOf(await ask('of alice')), '{"made":1}');
  t.is(textOf(await ask('of bob')), '{"made":2}');
  position = '0002';
  t.is(textOf(await ask('of alice')), '{"made":3}');
});

test('what several jobs say is made, and not kept, while the read models have no position', async (t) => {
  const position = () => Promise.reject(new Error('the documents are not ready'));
  const { kept } = counting({ flips: 0, position });
  let made = 0;
  const ask = () => kept.ofJobs('of alice', async () => ({ body: { made: ++made } }));
  t.deepEqual([(await ask()).body, (await ask()).body], [{ made: 1 }, { made: 2 }]);
});

test('many who ask at once wait for one reply, and a failure is not kept', async (t) => {
  const { ask, kept, made } = counting();
  await Promise.all(Array.from({ length: 100 }, () => ask()));
  t.is(made(), 1);
  const fails = () => kept.of(JOB, 'failing', () => Promise.reject(new Error('away')));
  await t.throwsAsync(fails(), { message: 'away' });
  t.is(textOf(await kept.of(JOB, 'failing', async () => ({ body: { fine: true } }))), '{"fine":true}');
});

test('what is streamed is made for each request', async (t) => {
  const { kept } = counting();
  let made = 0;
  const ask = () => kept.of(JOB, 'long', async () => ({ body: { made: ++made, items: Readable.from(['a']) } }));
  await Promise.all([ask(), ask(), ask()]);
  await ask();
  t.is(made, 4);
});

test('all that is kept is bounded in bytes', async (t) => {
  const { kept } = counting();
  let made = 0;
  const ask = (n: number) =>
    kept.of(JOB, `page ${n}`, async () => {
      made++;
      return { body: { text: 'x'.repeat(400_000) } };
    });
  for (let n = 0; n < 100; n++) await ask(n);
  await ask(99);
  t.is(made, 100);
  await ask(0);
  t.is(made, 101, 'the first is not kept any more');
});

const text = new JsonText(JSON.stringify({ long: 'x'.repeat(2000) }));
const route = routeOf(
  GATEWAY,
  'sample',
)({
  method: 'GET',
  path: '/kept',
  access: 'none',
  summary: 'What was serialised before',
  responses: { 200: { description: 'It.', schema: Type.Object({ long: Type.String() }) } },
  handler: () => ({ body: text }),
});

test('text that was serialised before is sent compressed to who takes that, and not at all to who has it', async (t) => {
  const sample = await startSample([route], {});
  t.teardown(() => sample.close());
  const { get } = await import('node:http');
  const ask = (headers: Record<string, string>) =>
    new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
      get(`${sample.url}/kept`, { headers }, async (answer) => {
        const bytes = Buffer.concat(await Array.fromAsync(answer));
        resolve({ status: answer.statusCode!, headers: answer.headers, bytes });
      }).on('error', reject);
    });
  const plain = await ask({});
  t.like(plain.headers, { 'content-type': 'application/json; charset=utf-8', vary: 'Accept-Encoding' });
  t.is(plain.headers['content-encoding'], undefined);
  const gzipped = await ask({ 'accept-encoding': 'gzip, br' });
  t.is(gzipped.headers['content-encoding'], 'gzip');
  t.deepEqual(gunzipSync(gzipped.bytes), plain.bytes);
  t.is(gzipped.headers.etag, plain.headers.etag);
  const again = await ask({ 'if-none-match': plain.headers.etag as string });
  t.is(again.status, 304);
  t.is(again.bytes.length, 0);
});
