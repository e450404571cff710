// A minimal HTTP/1.1 responder in its own process, for benchmarks: it answers on every 127.x.y.z address with small
// HTML pages and costs less than any of its clients.
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Certificate } from './nginx.ts';

export interface LoopbackServer {
  port: number;
  /** Connections accepted and requests answered since the last call. */
  counts(): Promise<{ connections: number; requests: number }>;
  stop(): Promise<void>;
}

/** Starts the process; it ends with `stop`, or with its parent. */
export async function startLoopbackServer(certificate: Certificate | null = null): Promise<LoopbackServer> {
  const child = fork(fileURLToPath(import.meta.url), ['serve', JSON.stringify(certificate)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const message = () => new Promise<unknown>((resolve) => child.once('message', resolve));
  const port = (await message()) as number;
  return {
    port,
    async counts() {
      const answer = message();
      child.send('counts');
      return (await answer) as { connections: number; requests: number };
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await ended;
    },
  };
}

const NAME_CHARS = 24;

/**
 * The text before and after the name in pages of 128 to 1,024 bytes; the last character of a request's path picks the page.
 * Each page has its own title: the checker would probe one page under many URLs as a soft 404.
 */
function pages(): { before: string; after: string }[] {
  return Array.from({ length: 8 }, (_, i) => {
    const start = '<!doctype html><title>';
    const middle = `</title><h1>Things of kind ${i}</h1><p>`;
    const rest = middle.padEnd(128 * (i + 1) - start.length - NAME_CHARS - 4, 'Some words about them. ') + '</p>';
    const length = start.length + NAME_CHARS + rest.length;
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: ${length}\r\nServer: loopback\r\n\r\n`;
    return { before: head + start, after: rest };
  });
}

function serve(): void {
  const answers = pages();
  let connections = 0;
  let requests = 0;
  const accept = (socket: net.Socket): void => {
    connections++;
    let rest = '';
    socket.on('data', (chunk: Buffer) => {
      let text = rest === '' ? chunk.toString('latin1') : rest + chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        requests++;
        const path_end = text.indexOf(' ', 5);
        const { before, after } = answers[text.charCodeAt(path_end - 1) & 7]!;
        const name = text.slice(Math.max(5, path_end - NAME_CHARS), path_end).padEnd(NAME_CHARS);
        socket.write(before + name + after, 'latin1');
        text = text.slice(end + 4);
      }
      rest = text;
    });
    socket.on('error', () => socket.destroy());
  };
  const certificate = JSON.parse(process.argv[3]!) as Certificate | null;
  const server =
    certificate === null
      ? net.createServer({ noDelay: true }, accept)
      : tls.createServer(
          { noDelay: true, cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) },
          accept,
        );
  server.listen({ port: 0, host: '0.0.0.0', backlog: 4096 }, () => {
    process.send!((server.address() as net.AddressInfo).port);
  });
  process.on('message', () => {
    process.send!({ connections, requests });
    connections = 0;
    requests = 0;
  });
  process.on('disconnect', () => process.exit(0));
}

if (import.meta.main && process.argv[2] === 'serve') serve();
