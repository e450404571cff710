// A port for a program or a server that must be told its port, or that starts on it again. No connection and no other server gets it
// meanwhile: the system gives out higher ones by itself, and other processes that ask here see that it is taken.
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Below the ports that Linux, macOS and Windows give out by themselves. */
const PORTS = [10_000, 32_000] as const;
const HOST = '127.0.0.1';
const PORT_LIMIT_MS = 10_000;

/** It is this process's until that ends, however long its program is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    if ((await reserve(port)) && (await canListen(port))) return port;
  }
}

/**
 * Listens on a port that another server of this process may just have closed: a program that another thread starts at that moment
 * has its socket too, until the copy of this process has become that program.
 */
export async function listenOn(server: Server, port: number, host = HOST): Promise<void> {
  const given_up_ms = performance.now() + PORT_LIMIT_MS;
  for (;;) {
    const listening = once(server, 'listening');
    server.listen(port, host);
    try {
      await listening;
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || performance.now() > given_up_ms) throw error;
      await sleep(10);
    }
  }
}

/** The port's namesake of UDP is bound by one process at a time: a lock that ends with its holder. */
async function reserve(port: number): Promise<boolean> {
  const lock = createSocket('udp4').unref();
  const is_ours = await new Promise<boolean>((resolve) => {
    lock.once('error', () => resolve(false));
    lock.bind({ port, address: HOST, exclusive: true }, () => resolve(true));
  });
  if (!is_ours) lock.close();
  return is_ours;
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  const is_free = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, HOST, () => resolve(true));
  });
  if (!is_free) return false;
  server.close();
  await once(server, 'close');
  return true;
}
