// An event whose sealed text, or whose key, was damaged is parked by the projections that need it; everything else goes on.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { metadataOf } from '../../../commands/aggregate.ts';
import { openUserAggregate, see } from '../../../commands/users/user.ts';
import { withCodec } from '../../../events/codec.ts';
import { openPersonalKeys } from '../../../events/personal-keys.ts';
import { personalKeyStream, userStream } from '../../../events/streams.ts';
import { parkedEvents } from '../../../readmodels/projection-state.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { userList } from '../../../readmodels/users/user-list.ts';
import { coded, commandContext, openTestStores, project } from '../../support/stores.ts';

test('a damaged text stops neither the projector nor reads', async (t) => {
  const stores = await openTestStores(t);
  const log = coded(stores.log);
  const users = openUserAggregate(log);
  const seen = (user_id: string) =>
    users.handle(userStream(user_id), commandContext(), (user) =>
      see(user, { user_id, email: `${user_id}@example.com` }),
    );
  await seen('alice');
  await seen('eve');
  const [made] = await Array.fromAsync(stores.log.readStream(userStream('eve')));
  const { email } = made!.data as { email: string };
  // The raw store takes the bytes as they are.
  const data = { user_id: 'eve', email: `${email.slice(0, -4)}AAAA` };
  const metadata = metadataOf(commandContext());
  await stores.log.append(userStream('eve'), 0, [{ id: randomUUID(), type: 'UserUpdated', data, metadata }]);
  await seen('bob');

  await project({ log, documents: stores.documents });
  const listed = await openReadModels(stores.documents)
    .collection(userList)
    .find({}, { sort: { _id: 1 } });
  t.deepEqual(
    listed.map(({ _id }) => _id),
    ['alice', 'bob', 'eve'],
  );
  const parked = await stores.documents.reading(parkedEvents).find({});
  t.true(parked.length > 0);
  for (const event of parked) {
    t.like(event, { type: 'UserUpdated', stream: userStream('eve'), revision: 1 });
    t.regex(event.error, /user-eve 1: email of UserUpdated is damaged/);
  }

  const events = await Array.fromAsync(log.readStream(userStream('eve')));
  t.like(events[0], { data: { email: 'eve@example.com' } });
  t.is(events[1]!.type, 'UserUpdated');
  t.throws(() => events[1]!.data, { code: 'damaged_event' });
});

test("a damaged key stops neither the projector nor others; another key of the service's own stops all", async (t) => {
  const stores = await openTestStores(t);
  const log = coded(stores.log);
  const keys = openPersonalKeys(stores.log, Buffer.from('the key of tests'));
  await keys.make('service');
  const data = { wrapped: 'sealed:1:AAAA' };
  const made = { id: randomUUID(), type: 'PersonalKeyMade', data, metadata: metadataOf(commandContext()) };
  const users = openUserAggregate(log);
  const seen = (user_id: string) =>
    users.handle(userStream(user_id), commandContext(), (user) =>
      see(user, { user_id, email: `${user_id}@example.com` }),
    );
  await seen('eve');
  await seen('alice');
  // The store of another machine, to which the key came damaged.
  const other = await openTestStores(t);
  for await (const { stream, id, type, data, metadata } of stores.log.readAll()) {
    const event = stream === personalKeyStream('user/eve') ? made : { id, type, data, metadata };
    await other.log.append(stream, 'no_stream', [event]);
  }

  const copied = coded(other.log);
  await project({ log: copied, documents: other.documents });
  const listed = await openReadModels(other.documents).collection(userList).find({});
  t.deepEqual(
    listed.map(({ _id, email }) => [_id, email]),
    [['alice', 'alice@example.com']],
  );
  const parked = await other.documents.reading(parkedEvents).find({});
  t.true(parked.length > 0);
  for (const { stream } of parked) t.is(stream, userStream('eve'));

  const wrong = withCodec(other.log, openPersonalKeys(other.log, Buffer.from('another key')));
  await t.throwsAsync(Array.fromAsync(wrong.readStream(userStream('alice'))), { code: 'wrong_personal_data_key' });
});
