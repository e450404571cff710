// Waits until the servers named by MONGODB_URL and NATS_URL serve: initiates the replica set, and waits for its primary.
import { MongoClient } from 'mongodb';
import { connect } from 'nats';

const WAIT_MS = 60_000;

const mongodb = new URL(process.env.MONGODB_URL!);
const client = new MongoClient(`mongodb://${mongodb.host}/?directConnection=true`, {
  serverSelectionTimeoutMS: WAIT_MS,
});
const admin = client.db('admin');
await admin.command({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host: mongodb.host }] } });
await client.close();
// This client selects a server by the replica set, and so answers once there is a primary.
const set = new MongoClient(process.env.MONGODB_URL!, { serverSelectionTimeoutMS: WAIT_MS });
const { version } = await set.db('admin').command({ buildInfo: 1 });
await set.close();
console.log(`MongoDB ${version} has a primary at ${mongodb.host}`);

const nats = await connect({ servers: process.env.NATS_URL!, waitOnFirstConnect: true, timeout: WAIT_MS });
await (await nats.jetstreamManager()).getAccountInfo();
console.log(`nats-server ${nats.info?.version} has JetStream at ${new URL(process.env.NATS_URL!).host}`);
await nats.close();
