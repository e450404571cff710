// A small server that speaks EventStoreDB's gRPC protocol, for tests without the real one: in memory, with
// faults that a test switches on. It serves the client's own generated service definitions over real connections.
//
// It does, by the rules of the version that it plays: ServerFeatures.GetSupportedMethods; Streams.Append and BatchAppend with
// the real rules of expected revisions and repeated ids; the limit in bytes of Append; Delete and Tombstone; Read of a stream
// and of $all in both directions; subscriptions to $all with filters by stream or type, prefix or regex, or without one;
// system events and tombstones in the log; tombstoned events that stay in $all until a test scavenges.
// It does not: users and access, clusters and gossip, links, subscriptions to one stream, persistent subscriptions,
// projections, stream metadata ($maxAge, $maxCount), size limits of BatchAppend, `any` remembering recent ids.
import { once } from 'node:events';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import featureServices from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import featureMessages, { type SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js';
import streamServices from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { type handleUnaryCall, Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { freePort, listenOn } from '../free-port.ts';
import { reset } from '../reset.ts';
import { Faults } from './faults.ts';
import { MemoryLog } from './memory-log.ts';
import { refusalError } from './messages.ts';
import { read } from './reads.ts';
import type { ServerVersion } from './subscriptions.ts';
import { append, batchAppend, deleteStream, tombstoneStream } from './writes.ts';

export interface EventStoreDbServer {
  /** Stays the same over `stop` and `start`. */
  url: string;
  log: MemoryLog;
  faults: Faults;
  connections(): number;
  /** Breaks every connection; new ones are taken. */
  killConnections(): void;
  /** Breaks every connection and refuses new ones, until `start`. The data stays. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops for good. */
  close(): Promise<void>;
}

export interface EventStoreDbServerOptions {
  /** Whose rules it follows; 24.10.5 unless told. */
  version?: ServerVersion;
  /** The events of one append share a commit position, as those of explicit transactions do. */
  shared_commit?: boolean;
  /** PEM of a server with TLS; `client_ca`: the authority of the certificates that clients must show. */
  tls?: { cert: string; key: string; client_ca?: string };
}

export async function startEventStoreDbServer(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
  const { version = '24.10.5' } = options;
  const log = new MemoryLog(options);
  const faults = new Faults();
  const sockets = new Set<Socket>();
  const killConnections = () => {
    for (const socket of sockets) reset(socket);
  };

  const grpc = new Server();
  const port = await freePort();
  const refused = () => {
    const refusal = faults.refusals.shift();
    return refusal === undefined ? null : refusalError(refusal, port);
  };
  const writing = { log, faults, killConnections, refused };
  grpc.addService(
    streamServices.StreamsService as never,
    {
      append: append(writing),
      batchAppend: batchAppend(writing),
      delete: deleteStream(writing),
      tombstone: tombstoneStream(writing),
      read: read({ log, faults, version, refused }),
    } as unknown as UntypedServiceImplementation,
  );
  grpc.addService(
    featureServices.ServerFeaturesService as never,
    {
      getSupportedMethods: supportedMethods(faults, version),
    } as unknown as UntypedServiceImplementation,
  );
  const injector = grpc.createConnectionInjector(credentialsOf(options.tls));

  let listener: NetServer | null = null;
  const start = async () => {
    listener = createServer({ noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined); // a connection that breaks is the client's to notice
      injector.injectConnection(socket);
    });
    await listenOn(listener, port);
  };
  const stop = async () => {
    const closed = listener && once(listener, 'close');
    listener?.close();
    listener = null;
    killConnections();
    await closed;
  };
  await start();

  return {
    url: `esdb://127.0.0.1:${port}${options.tls ? '' : '?tls=false'}`,
    log,
    faults,
    connections: () => sockets.size,
    killConnections,
    stop,
    start,
    async close() {
      await stop();
      faults.silent = false;
      injector.destroy();
      grpc.forceShutdown();
    },
  };
}

function credentialsOf(tls: EventStoreDbServerOptions['tls']): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const ca = tls.client_ca === undefined ? null : Buffer.from(tls.client_ca);
  return ServerCredentials.createSsl(ca, [pair(tls)], ca !== null);
}
const pair = ({ cert, key }: { cert: string; key: string }) => ({
  ...{ cert_chain: Buffer.from(cert), private_key: Buffer.from(key) },
});

const supportedMethods =
  (faults: Faults, version: ServerVersion): handleUnaryCall<Empty, SupportedMethods> =>
  async (_call, callback) => {
    await faults.beforeAnswer();
    const message = new featureMessages.SupportedMethods();
    message.setEventStoreServerVersion(version);
    for (const name of ['append', 'batchappend', 'delete', 'read', 'tombstone']) {
      const method = new featureMessages.SupportedMethod();
      method.setServiceName('event_store.client.streams.streams');
      method.setMethodName(name);
      message.addMethods(method);
    }
    callback(null, message);
  };
