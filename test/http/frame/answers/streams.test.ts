// Answers that are streams, and clients that leave before their answer.
import { Readable } from 'node:stream';
import test from 'ava';
import { Type } from 'typebox';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { jsonBody } from '../../../../http/frame/request-bodies.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { type Sample, startSample, until } from '../../sample-app.ts';

/** What the slow handler saw. */
interface Slow {
  started: number;
  left: unknown[];
}
const route = routeOf<Slow>(GATEWAY, 'sample');
const about = { access: 'none', summary: 'A sample' } as const;

async function* lines(count: number, fail_at = Number.POSITIVE_INFINITY) {
  for (let i = 0; i < count; i++) {
    if (i === fail_at) throw new Error('the store is gone');
    yield `line ${i}\n`;
  }
}

const ROUTES: Route<Slow>[] = [
  route({
    ...about,
    method: 'GET',
    path: '/stream/{how}',
    responses: { 200: { description: 'A file.', content_type: 'text/csv; charset=utf-8', schema: Type.String() } },
    handler: ({ params: { how } }) => {
      const headers = { 'content-disposition': 'attachment; filename="a.csv"' };
      if (how === 'early') return { stream: Readable.from(lines(10, 0)), headers };
      if (how === 'late') return { stream: Readable.from(lines(200_000, 150_000)), headers };
      if (how === 'empty') return { stream: Readable.from([]), headers };
      if (how === 'endless') return { stream: Readable.from(lines(Number.POSITIVE_INFINITY)), headers };
      return { stream: Readable.from(lines(50_000)), headers };
    },
  }),
  route({
    ...about,
    method: 'POST',
    path: '/slow',
    body: jsonBody(Type.Object({}), { optional: true }),
    responses: { 200: { description: 'Fine.', schema: Type.Object({}) } },
    async handler({ signal }, slow) {
      slow.started++;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      slow.left.push(signal.reason);
      return { body: {} };
    },
  }),
  route({
    ...about,
    method: 'GET',
    path: '/broken-headers',
    responses: { 200: { description: 'Fine.', schema: Type.Object({ long: Type.String() }) } },
    handler({ ctx }) {
      // What the step that compresses looks at, after the route, of an answer that is long enough.
      const get = () => {
        throw new Error('a defect of a step');
      };
      Object.defineProperty(ctx.response, 'type', { get, set() {} });
      return { body: { long: 'x'.repeat(2000) } };
    },
  }),
];

const slow: Slow = { started: 0, left: [] };
let sample: Sample;
test.before(async () => {
  sample = await startSample(ROUTES, slow);
});
test.after.always(() => sample?.close());

test('HEAD answers with the headers of a stream and without its body', async (t) => {
  const response = await sample.request('/stream/all', { method: 'HEAD' });
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.is(await response.text(), '');
});

test('the service sends a stream whole, with its type and headers', async (t) => {
  const response = await sample.request('/stream/all');
  t.is(response.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.is(response.headers.get('content-disposition'), 'attachment; filename="a.csv"');
  const text = await response.text();
  t.true(text.startsWith('line 0\nline 1\n'));
  t.true(text.endsWith('line 49999\n'));
  t.is(await (await sample.request('/stream/empty')).text(), '');
});

test('a stream that fails before its first byte is an ordinary error', async (t) => {
  const response = await sample.request('/stream/early');
  t.is(response.status, 500);
  t.is(((await response.json()) as { code: string }).code, 'internal_error');
});

test('the service cuts off a stream that fails later', async (t) => {
  const response = await sample.request('/stream/late', { headers: { 'x-request-id': 'cut' } });
  t.is(response.status, 200);
  await t.throwsAsync(() => response.text());
  await until(() =>
    sample.logged.some(({ msg, request_id }) => msg === 'http cuts a response off' && request_id === 'cut'),
  );
  await until(() => sample.logged.some(({ status, request_id }) => status === 500 && request_id === 'cut'));
});

test('a fault outside of the routes is logged too', async (t) => {
  const response = await sample.request('/broken-headers', { headers: { 'x-request-id': 'outside' } });
  t.is(response.status, 500);
  const line = sample.logged.find(({ msg, request_id }) => msg === 'request failed' && request_id === 'outside');
  t.regex((line?.err as Error | undefined)?.message ?? '', /a defect of a step/);
});

test('a handler learns that its client has left', async (t) => {
  const controller = new AbortController();
  const headers = { 'x-request-id': 'left' };
  const asked = sample.request('/slow', { method: 'POST', signal: controller.signal, headers });
  await until(() => slow.started === 1);
  controller.abort();
  await t.throwsAsync(asked);
  await until(() => slow.left.length === 1);
  t.is((slow.left[0] as { code: string }).code, 'client_gone');
  t.like(
    sample.logged.find(({ msg, request_id }) => msg === 'request' && request_id === 'left'),
    { status: 499 },
  );
});

test('a client that leaves a stream causes no error', async (t) => {
  const controller = new AbortController();
  const headers = { 'x-request-id': 'left-stream' };
  const response = await sample.request('/stream/endless', { signal: controller.signal, headers });
  await response.body!.getReader().read();
  controller.abort();
  const line = () => sample.logged.find(({ msg, request_id }) => msg === 'request' && request_id === 'left-stream');
  await until(() => line() !== undefined);
  t.like(line(), { level: 30, status: 499 });
  t.false(sample.logged.some(({ level, request_id }) => level === 50 && request_id === 'left-stream'));
});
