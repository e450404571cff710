// Keeps the server's connections below the open-file limit, and ends idle ones when the server closes.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { openFilesAllowed } from '../../net/open-files.ts';
import type { Config } from '../../settings/config.ts';
import { openCounter, openGauge } from './metrics.ts';

export interface Connections {
  /** Returns a function that ends each connection as soon as it has no request in flight. */
  watch(server: Server): () => void;
  /** The number of requests on the connection that are not answered yet. */
  unanswered(socket: Socket): number;
  /** Whether the connection opened while all others were busy: the server answers only probes on it. */
  isSpare(socket: Socket): boolean;
  measure(registry: Registry): void;
}

/** Files of stores, logs, uploads and of Node itself. */
const OWN_FILES = 200;
/** Files that a URL in flight can have open: its connection, a second attempt, and a DNS lookup. */
const FILES_A_CHECK = 3;
const FEWEST = 16;
/** Connections above the limit, so that the server answers a probe while every connection is busy. */
const SPARE = 8;
const LOGGED_EVERY_MS = 1000;

/** The smaller of `wanted` and the open files that the process and its checker leave free. */
export function mostConnections(
  { wanted, checks_at_once }: { wanted: number; checks_at_once: number },
  open_files = openFilesAllowed(),
): number {
  return Math.max(FEWEST, Math.min(wanted, open_files - OWN_FILES - FILES_A_CHECK * checks_at_once));
}

/** Opens the connections of a process, and leaves its checker enough open files. */
export function connectionsBeside(
  { roles, checker_concurrency, max_connections: wanted }: Config,
  log: Logger,
): Connections {
  const checks_at_once = roles.includes('checker') ? checker_concurrency : 0;
  const most = mostConnections({ wanted, checks_at_once });
  if (most < wanted)
    log.info({ most }, 'http takes fewer connections than MAX_CONNECTIONS: the process may open too few files');
  return openConnections({ most, log });
}

export function openConnections(options: { most: number; log: Logger; monotonic?: () => number }): Connections {
  const { most, log, monotonic = () => performance.now() } = options;
  /** The answers in flight on each connection. Of the idle connections, the longest idle comes first. */
  const sockets = new Map<Socket, Set<ServerResponse>>();
  const spare = new Set<Socket>();
  let refused = 0;
  let unlogged = 0;
  let logged_at = Number.NEGATIVE_INFINITY;
  let draining = false;

  function forget(socket: Socket): void {
    sockets.delete(socket);
    spare.delete(socket);
  }
  /** Closes the longest idle connection, else the oldest spare one. With neither, the new connection becomes spare. */
  function makeRoom(last: Socket): void {
    const closed = longestIdle(last) ?? (spare.size < SPARE ? null : [...spare][0]!);
    if (closed === null || spare.has(closed)) spare.add(last);
    if (closed === null) return;
    closed.destroy();
    forget(closed);
    refused++;
    unlogged++;
    const now = monotonic();
    if (now - logged_at < LOGGED_EVERY_MS) return;
    log.warn({ most, closed: unlogged }, 'too many connections: the server closes some');
    logged_at = now;
    unlogged = 0;
  }
  function longestIdle(last: Socket): Socket | null {
    for (const [socket, answers] of sockets) {
      if (answers.size === 0 && socket !== last && !spare.has(socket)) return socket;
    }
    return null;
  }
  function endIfIdle(socket: Socket): void {
    if (sockets.get(socket)?.size === 0) socket.destroy();
  }
  return {
    watch(server) {
      server.on('connection', (socket: Socket) => {
        sockets.set(socket, new Set());
        socket.once('close', () => forget(socket));
        if (sockets.size - spare.size > most) makeRoom(socket);
      });
      server.on('request', ({ socket }, response) => {
        const answers = sockets.get(socket);
        answers?.add(response);
        if (draining) response.setHeader('Connection', 'close');
        response.once('close', () => {
          answers?.delete(response);
          if (!answers || !sockets.delete(socket)) return;
          sockets.set(socket, answers);
          if (draining) endIfIdle(socket);
        });
      });
      return () => {
        draining = true;
        for (const [socket, answers] of sockets) {
          for (const response of answers) if (!response.headersSent) response.setHeader('Connection', 'close');
          endIfIdle(socket);
        }
      };
    },
    unanswered: (socket) => sockets.get(socket)?.size ?? 0,
    isSpare: (socket) => spare.has(socket),
    measure(registry) {
      openGauge(registry, { name: 'http_connections', help: 'Open connections.' }, () => sockets.size);
      const help = 'Connections that the server closed because it had too many.';
      openCounter(registry, { name: 'http_connections_closed_for_room_total', help }, () => refused);
    },
  };
}
