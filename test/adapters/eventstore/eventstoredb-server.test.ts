// The small server answers the real client as EventStoreDB does, by either of the two calls that append.
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, StreamNotFoundError } from '@eventstore/db-client';
import test from 'ava';
import {
  type EventStoreDbServer,
  startEventStoreDbServer,
} from '../../support/eventstoredb-server/eventstoredb-server.ts';

const withServer =
  (body: (server: EventStoreDbServer, client: EventStoreDBClient) => Promise<void>) => async (): Promise<void> => {
    const server = await startEventStoreDbServer();
    const client = EventStoreDBClient.connectionString(server.url);
    try {
      await body(server, client);
    } finally {
      await client.dispose();
      await server.close();
    }
  };

const events = (count: number) =>
  Array.from({ length: count }, (_, n) => jsonEvent({ id: randomUUID(), type: 'Happened', data: { n } }));

// Serial: an end of one client's BatchAppend fails the appends that other clients of the process wait for.

/** With credentials the client appends by single calls, without them by its one BatchAppend stream. */
const CALLS = {
  Append: { credentials: { username: 'admin', password: 'changeit' } },
  BatchAppend: {},
};

for (const [name, options] of Object.entries(CALLS)) {
  test.serial(`${name} checks the expected revision and recognises a repeated append`, (t) =>
    withServer(async (server, client) => {
      const append = (expectedRevision: bigint | 'no_stream' | 'stream_exists', list: ReturnType<typeof events>) =>
        client.appendToStream('order-1', list, { expectedRevision, ...options });
      const first = events(2);
      const second = events(3);
      await t.throwsAsync(append(0n, first), { message: '' }, 'there is no stream yet');
      await t.throwsAsync(append('stream_exists', first));
      const created = await append('no_stream', first);
      t.is(created.nextExpectedRevision, 1n);
      t.deepEqual(created.position, server.log.all.at(-1) && positionOf(server.log.all.at(-1)!));
      const continued = await append(1n, second);
      t.is(continued.nextExpectedRevision, 4n);
      t.deepEqual(await append('no_stream', first), created);
      t.deepEqual(await append(1n, second), continued);
      const wrong = await t.throwsAsync(append(1n, events(1)));
      t.like(wrong, { type: 'wrong-expected-version', actualVersion: 4n, expectedVersion: 1n });
      t.is((await append(4n, second)).nextExpectedRevision, 7n, 'at the current revision ids are not looked at');
      await client.tombstoneStream('order-1');
      t.like(await t.throwsAsync(append(7n, events(1))), { type: 'stream-deleted', streamName: 'order-1' });
    })(),
  );
}

const positionOf = ({ commit, prepare }: { commit: bigint; prepare: bigint }) => ({ commit, prepare });

test.serial('a soft-deleted stream reads as absent and continues at its old revision', (t) =>
  withServer(async (_server, client) => {
    await client.appendToStream('order-1', events(2), { expectedRevision: 'no_stream' });
    await client.deleteStream('order-1');
    await t.throwsAsync(
      async () => {
        for await (const _ of client.readStream('order-1')) t.fail();
      },
      { instanceOf: StreamNotFoundError },
    );
    const again = await client.appendToStream('order-1', events(1), { expectedRevision: 'no_stream' });
    t.is(again.nextExpectedRevision, 2n);
  })(),
);

test.serial('the log has system events, which a filter leaves out', (t) =>
  withServer(async (_server, client) => {
    await client.appendToStream('order-1', events(2), { expectedRevision: 'no_stream' });
    await client.tombstoneStream('order-1');
    const types: string[] = [];
    for await (const { event } of client.readAll()) types.push(event!.type);
    t.deepEqual(types, ['$epoch-information', '$metadata', 'Happened', 'Happened', '$streamDeleted']);
  })(),
);
