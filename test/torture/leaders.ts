// The nodes of a cluster: which one leads, how it is asked to let another lead, and how a node loses what it stores.
import { mkdir, rm } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import { connect, type NatsConnection } from 'nats';
import type { ServerNode, StartedServer, StartedServers } from './servers.ts';

const STREAM = 'urlchecker';
const PATIENCE_MS = 5000;

export async function withMongo<T>(url: string, work: (client: MongoClient) => Promise<T>): Promise<T> {
  await using client = new MongoClient(url, { serverSelectionTimeoutMS: PATIENCE_MS });
  // Not before it is done is the client closed.
  return await work(client);
}

/** As on a new disk. */
export async function emptied(store: string): Promise<void> {
  await rm(store, { recursive: true, force: true });
  await mkdir(store);
}

/** `mongodb_url`: of all its nodes. */
export function leadersOf({ mongodb, nats }: StartedServers, mongodb_url: string) {
  async function withNats<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T> {
    const servers = nats.nodes.map(({ port }) => `127.0.0.1:${port}`);
    const connection = await connect({ servers, timeout: PATIENCE_MS, maxReconnectAttempts: 1 });
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }
  return {
    async leaderOf({ name }: StartedServer): Promise<ServerNode | null> {
      if (name === mongodb.name) {
        const { primary } = await withMongo(mongodb_url, (client) => client.db('admin').command({ hello: 1 }));
        return mongodb.nodes.find(({ port }) => primary === `localhost:${port}`) ?? null;
      }
      const { cluster } = await withNats(async (one) => (await one.jetstreamManager()).streams.info(STREAM));
      return nats.nodes.find((node) => node.name === cluster?.leader) ?? null;
    },
    async stepDown({ name }: StartedServer): Promise<void> {
      if (name === mongodb.name)
        await withMongo(mongodb_url, (client) =>
          client.db('admin').command({ replSetStepDown: 20, secondaryCatchUpPeriodSecs: 5 }),
        );
      else
        await withNats((one) => one.request(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`, '', { timeout: PATIENCE_MS }));
    },
  };
}
