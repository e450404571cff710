// Attempts to connect to NATS that are given up.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import test from 'ava';
import { NodeTransport } from 'nats/lib/src/node_transport.js';
import '../../../adapters/queue/nats/given-up-attempts.ts';

/** Of the attempt's arguments, those that it reads before the server has said anything. */
const attempt = (port: number) => [{ hostname: '127.0.0.1', port, tlsName: '' }, { port }] as never;

test('an attempt to connect to a silent server that is given up leaves no socket', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const transport = new NodeTransport();
  const taken = once(silent, 'connection');
  transport.connect(...(attempt((silent.address() as AddressInfo).port) as [never, never])).catch(() => {});
  const [socket] = (await taken) as [Socket];
  await transport.close();
  socket.resume();
  await once(socket, 'close');
  silent.close();
  t.pass();
});

test('an attempt at a port where nobody listens fails with the code of the refusal', async (t) => {
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  await once(gone.close(), 'close');
  const transport = new NodeTransport();
  await t.throwsAsync(transport.connect(...(attempt(port) as [never, never])), { code: 'CONNECTION_REFUSED' });
});
