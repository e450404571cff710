// The server of one case: it reads requests, and the case answers them in bytes.
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { closeWith } from '../support/loopback.ts';
import type { LabCase } from './case.ts';
import type { Certificates } from './certificates.ts';

export interface CaseServer {
  readonly port: number;
  /** Forgets connections and visits: another client comes. */
  forget(): void;
  close(): Promise<void>;
}

/** `port` 0: a free one. */
export async function serveCase(lab: LabCase, at: string, port: number, certs: Certificates): Promise<CaseServer> {
  const sockets = new Set<Socket>();
  const visits = new Map<string, number>();
  let connections = 0;

  const take = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    if (lab.accept?.(socket, ++connections) === true) return;
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end);
        text = text.slice(end + 4);
        const path = head.split(' ', 2)[1] ?? '';
        // Browsers ask for it by themselves.
        if (path === '/favicon.ico') continue;
        const visit = (visits.get(path) ?? 0) + 1;
        visits.set(path, visit);
        lab.answer({ path, visit, host: fieldOf(head, 'host'), cookie: fieldOf(head, 'cookie') }, socket);
      }
    });
  };
  const server = lab.tls === undefined ? net.createServer(take) : tls.createServer(lab.tls(certs), take);
  server.on('tlsClientError', () => {});
  server.listen(port, at);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    forget() {
      for (const socket of sockets) socket.destroy();
      visits.clear();
      connections = 0;
    },
    close: () => closeWith(server, sockets),
  };
}

const fieldOf = (head: string, name: string) => new RegExp(`\\r\\n${name}:[ \\t]*([^\\r]*)`, 'i').exec(head)?.[1] ?? '';
