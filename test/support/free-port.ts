// A port for a program that must be told its port, or that starts on it again. No connection and no other server gets it
// meanwhile: the system gives out higher ones by itself, and other processes that ask here see that it is taken.
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux, macOS and Windows give out by themselves. */
const PORTS = [10_000, 32_000] as const;
const HOST = '127.0.0.1';

/** It is this process's until that ends, however long its program is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    if ((await reserve(port)) && (await canListen(port))) return port;
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
