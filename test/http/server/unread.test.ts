// Answers that wait for a client that does not read: how much waits, and for how long.
import { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import pino from 'pino';
import { holdersOf } from '../../../http/frame/limits/address-shares.ts';
import { Front } from '../../../http/server/front.ts';
import { startServer } from '../../../http/server/server.ts';
import { Unread, unreadLimits } from '../../../http/server/unread.ts';
import { until } from '../sample-app.ts';

const log = pino({ level: 'silent' });
const KIB = 1024;
const MIB = 1024 * KIB;

/** A server whose every answer has so many bytes, and a client that reads nothing of any. */
async function startUnread(bytes: number, front: Front, handler?: RequestListener) {
  let asked = 0;
  const answers: ServerResponse[] = [];
  const app = {
    callback: () => (request: IncomingMessage, response: ServerResponse) => {
      asked++;
      answers.push(response);
      if (handler) handler(request, response);
      else response.end(Buffer.alloc(bytes, 'a'));
    },
  };
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log, front, drain_ms: 0 });
  const port = Number(new URL(server.url).port);
  const sockets: Socket[] = [];
  return {
    url: server.url,
    answers,
    asked: () => asked,
    ask(requests = 1, localAddress = '127.0.0.1'): Socket {
      const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
      sockets.push(socket.pause());
      socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
      return socket;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await server.close();
    },
  };
}

test('the server works on one request of a connection at a time, and answers all in order', async (t) => {
  const front = new Front({ log });
  let working = 0;
  let most = 0;
  const order: string[] = [];
  const world = await startUnread(0, front, async (request, response) => {
    most = Math.max(most, ++working);
    await turn();
    working--;
    order.push(request.url!);
    response.end(request.url);
  });
  t.teardown(world.close);
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  const paths = Array.from({ length: 100 }, (_, n) => `/${n}`);
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  await until(() => text.endsWith('/99'));
  t.deepEqual(order, paths);
  t.is(most, 1);
});

test('requests behind an answer that nobody reads are not worked on', async (t) => {
  const world = await startUnread(7 * MIB, new Front({ log, max_unread_bytes: 1024 * MIB }));
  t.teardown(world.close);
  world.ask(100);
  await until(() => world.asked() === 1);
  t.is((await fetch(`${world.url}/healthz`)).status, 200);
  t.is(world.asked(), 2);
});

test('what waits for an address is bounded: connections above it are cut off, and another address is served', async (t) => {
  const front = new Front({ log, max_unread_bytes: 40 * MIB });
  const world = await startUnread(0, front, () => {});
  t.teardown(world.close);
  for (let n = 0; n < 5; n++) world.ask();
  await until(() => world.answers.length === 5);
  for (const answer of world.answers) answer.end(Buffer.alloc(7 * MIB));
  t.is(world.answers.filter(({ socket }) => socket && !socket.destroyed).length, 2);
  const other = world.ask(1, '127.0.0.2').resume();
  await until(() => world.answers.length === 6);
  let bytes = 0;
  other.on('data', (chunk) => (bytes += chunk.length));
  world.answers[5]!.end(Buffer.alloc(7 * MIB));
  await until(() => bytes > 7 * MIB);
  t.pass();
});

test('while half of what may wait for an address waits, its further requests are refused before they are worked on', async (t) => {
  const world = await startUnread(7 * MIB, new Front({ log, max_unread_bytes: 20 * MIB }));
  t.teardown(world.close);
  world.ask();
  await until(() => world.asked() === 1);
  const refused = await fetch(`${world.url}/any`);
  t.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1']);
  t.is(world.asked(), 1);
});

/** Connections of several addresses, for which the service writes without that they read. */
function unreadOf(all: number) {
  const holders = new Map<object, ReturnType<typeof holdersOf>>();
  const unread = new Unread({ limits: unreadLimits(all), holdersOf: (socket) => holders.get(socket) ?? [], log });
  unread.close();
  return {
    unread,
    leaves(address: string, bytes: number) {
      const socket = Object.assign(new EventEmitter(), {
        ...{ bytesWritten: bytes, writableLength: bytes, destroyed: false, remoteAddress: address },
        destroy: () => void (socket.destroyed = true),
      });
      holders.set(socket, holdersOf(address));
      unread.wrote(socket as unknown as Socket);
      return socket;
    },
  };
}

test('addresses that leave half of all unread are refused, and an address that leaves nothing is served', (t) => {
  const { unread, leaves } = unreadOf(64 * MIB);
  for (let n = 0; n < 11; n++) leaves(`192.0.2.${n % 3}`, 3 * MIB);
  t.true(unread.isFull(holdersOf('192.0.2.1')), 'it has less than its share, which is too much by now');
  t.false(unread.isFull(holdersOf('198.51.100.1')));
});

test('above what may wait in all the site for which most waits loses a connection', (t) => {
  const { leaves } = unreadOf(16 * MIB);
  const of_site = [1, 2, 3, 4, 5].map((subnet) => leaves(`2001:db8:1:${subnet}::1`, 2 * MIB));
  const reader = leaves('192.0.2.1', 5 * MIB);
  t.false(reader.destroyed);
  const other = leaves('192.0.2.2', 3 * MIB);
  t.deepEqual([reader.destroyed, other.destroyed], [false, false]);
  t.is(of_site.filter(({ destroyed }) => destroyed).length, 1);
});

/** A connection for which bytes wait, as `Unread` sees it. */
function slowReader(limits = unreadLimits(64 * MIB)) {
  let now = 0;
  const unread = new Unread({ limits, holdersOf: () => holdersOf('192.0.2.1'), log, monotonic: () => now });
  const socket = Object.assign(new EventEmitter(), {
    ...{ bytesWritten: 0, writableLength: 0, destroyed: false, remoteAddress: '192.0.2.1' },
    destroy: () => void (socket.destroyed = true),
  });
  unread.close();
  return {
    socket,
    /** The service writes, of which the client takes so much in the seconds that follow. */
    write(bytes: number) {
      socket.bytesWritten += bytes;
      socket.writableLength += bytes;
      unread.wrote(socket as unknown as Socket);
    },
    passes(seconds: number, taken_a_second = 0) {
      for (let n = 0; n < seconds; n++) {
        socket.writableLength -= Math.min(taken_a_second, socket.writableLength);
        now += 1000;
        unread.look();
      }
    },
    sleeps(ms: number) {
      now += ms;
      unread.look();
    },
  };
}

test('a client that takes nothing for ten seconds is cut off, whatever its answer', (t) => {
  const reader = slowReader();
  reader.write(300 * KIB);
  reader.passes(9);
  t.false(reader.socket.destroyed);
  reader.passes(1, 1);
  reader.passes(9);
  t.false(reader.socket.destroyed, 'it took a byte');
  reader.passes(1);
  t.true(reader.socket.destroyed);
});

test('a client that takes less than 64 KiB in a minute is cut off', (t) => {
  const reader = slowReader();
  reader.write(8000 * KIB);
  reader.passes(60, 1100);
  t.false(reader.socket.destroyed, 'it took 64 KiB');
  reader.passes(59, 1000);
  t.false(reader.socket.destroyed);
  reader.passes(1, 1000);
  t.true(reader.socket.destroyed);
});

test('a pause of the process is not held against a client', (t) => {
  const reader = slowReader();
  reader.write(300 * KIB);
  reader.passes(1);
  reader.sleeps(60_000);
  t.false(reader.socket.destroyed);
});

test('a connection with nothing left to send starts over', (t) => {
  const reader = slowReader();
  reader.write(300 * KIB);
  reader.passes(9);
  reader.passes(1, 300 * KIB);
  reader.write(300 * KIB);
  reader.passes(9);
  t.false(reader.socket.destroyed);
});
