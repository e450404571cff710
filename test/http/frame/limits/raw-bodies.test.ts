// Bodies of webhooks: those without a signature are refused before they are read, and those that are read are bounded.
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { Type } from 'typebox';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { isRecentSignature } from '../../../../http/billing/payments.ts';
import { wrongSignature } from '../../../../http/callers/access.ts';
import { openRawBodies } from '../../../../http/frame/limits/raw-bodies.ts';
import { rawBody } from '../../../../http/frame/request-bodies.ts';
import { routeOf } from '../../../../http/frame/route.ts';
import { startSample } from '../../sample-app.ts';

const KIB = 1024;
let handled = 0;
const hook = routeOf<unknown>(
  GATEWAY,
  'sample',
)({
  method: 'POST',
  path: '/hook',
  access: 'signature',
  summary: 'A sample',
  body: rawBody({ limit_bytes: 100 * KIB }),
  responses: { 200: { description: 'Fine.', schema: Type.Object({}) } },
  early(header) {
    if (header('x-signature') === '') throw wrongSignature();
  },
  handler: () => {
    handled++;
    return { body: {} };
  },
});

/** Sends the head of a request, and nothing of the body that it announces. Resolves with the status of the answer. */
function announce(url: string, head: string): { socket: Socket; status: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  socket.write(`POST /hook HTTP/1.1\r\nHost: a\r\n${head}\r\n`);
  const status = new Promise<string>((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString().slice(9, 12)));
  });
  return { socket, status };
}

test('a body without a signature is refused before it is read', async (t) => {
  const sample = await startSample([hook], {});
  t.teardown(sample.close);
  const { socket, status } = announce(sample.url, `Content-Length: ${90 * KIB}\r\n`);
  t.is(await status, '401');
  socket.destroy();
  t.is(handled, 0);
});

test('bodies on their way are bounded in bytes, and each gives its room back', async (t) => {
  const limits = { all: 200 * KIB, of_an_address: 150 * KIB };
  const sample = await startSample([hook], {}, { raw_bodies: openRawBodies(limits), drain_ms: 0 });
  t.teardown(sample.close);
  const signed = 'X-Signature: a\r\n';
  const first = announce(sample.url, `${signed}Content-Length: ${90 * KIB}\r\n`);
  // The second body would be too much for its address, whose first is still on its way.
  const post = (bytes: number) =>
    sample.request('/hook', { method: 'POST', body: 'a'.repeat(bytes), headers: { 'x-signature': 'a' } });
  let refused = await post(90 * KIB);
  while (refused.status === 200) refused = await post(90 * KIB);
  t.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
  t.is((await post(10 * KIB)).status, 200);
  first.socket.write('a'.repeat(90 * KIB));
  t.is(await first.status, '200');
  first.socket.destroy();
  t.is((await post(90 * KIB)).status, 200);
});

test('a signature has the time of its event', (t) => {
  const now_ms = 1_769_850_300_000;
  const signature = `v1=${'0'.repeat(64)}`;
  t.true(isRecentSignature(`t=1769850300,${signature}`, now_ms));
  t.true(isRecentSignature(`t=1769850001,${signature},v0=aa`, now_ms));
  for (const wrong of ['', signature, 't=1769850300', `t=1769849000,${signature}`, `t=now,${signature}`])
    t.false(isRecentSignature(wrong, now_ms), wrong);
});
