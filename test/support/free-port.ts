// A port for a program that must be told its port, or that starts on it again. No connection and no other server gets it
// meanwhile: the system gives out higher ones by itself.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux, macOS and Windows give out by themselves. */
const PORTS = [10_000, 32_000] as const;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    const server = createServer();
    const is_free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!is_free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
