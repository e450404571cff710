// The life of a share in the log and in its read model, its views and its end included.
import test from 'ava';
import { pino } from 'pino';
import { Value } from 'typebox/value';
import { idOfShareToken, newShareToken, openShares, type Shares } from '../../commands/shares.ts';
import { sharesStream, shareUsesStream } from '../../events/streams.ts';
import { VOCABULARY } from '../../events/vocabulary.ts';
import { openShareUses } from '../../http/shares/share-uses.ts';
import { sharesProjection } from '../../projections/shares.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { shareStatus, shares } from '../../readmodels/shares.ts';
import { commandContext, openTestStores, project, silent, type TestStores } from '../support/stores.ts';

const NOW = Date.parse('2026-01-31T09:00:00.000Z');

async function eventsOf({ log }: TestStores, share_id: string) {
  const events = [];
  for (const stream of [sharesStream('j'), shareUsesStream(share_id)]) {
    for await (const { type, data } of log.readStream(stream)) events.push({ type, data });
  }
  return events;
}

async function documentOf(stores: TestStores, share_id: string) {
  await project(stores, [sharesProjection]);
  return await openReadModels(stores.documents).collection(shares).get(share_id);
}

async function created(commands: Shares, token = newShareToken()): Promise<string> {
  await commands.create(made(token), commandContext(NOW));
  return idOfShareToken(token);
}
const made = (token: string) => ({ token, job_id: 'j', user_id: 'alice', expires_at: null });

test("the log has the hash of a share's token, and never the token", async (t) => {
  const stores = await openTestStores(t);
  const commands = openShares(stores.log);
  const token = newShareToken();
  const share_id = await created(commands, token);
  const events = await eventsOf(stores, share_id);
  t.deepEqual(events, [{ type: 'ShareCreated', data: { share_id, job_id: 'j', user_id: 'alice', expires_at: null } }]);
  t.false(JSON.stringify(events).includes(token));
  t.like(await documentOf(stores, share_id), { job_id: 'j', use_count: 0, revoked_at: null });
});

test('revoking ends a share once, and only through its own job', async (t) => {
  const stores = await openTestStores(t);
  const commands = openShares(stores.log);
  const share_id = await created(commands);
  const of_other = await commands.revoke({ share_id, job_id: 'other' }, commandContext(NOW));
  t.like(of_other, { ok: false, refused: { code: 'share_not_found' } });
  const unknown = await commands.revoke({ share_id: '0'.repeat(64), job_id: 'j' }, commandContext(NOW));
  t.like(unknown, { ok: false, refused: { code: 'share_not_found' } });
  t.is(shareStatus((await documentOf(stores, share_id))!, NOW), 'active');
  for (let n = 0; n < 2; n++) t.true((await commands.revoke({ share_id, job_id: 'j' }, commandContext(NOW))).ok);
  t.deepEqual(
    (await eventsOf(stores, share_id)).map(({ type }) => type),
    ['ShareCreated', 'ShareRevoked'],
  );
  t.is(shareStatus((await documentOf(stores, share_id))!, NOW), 'revoked');
});

test('a share expires at the moment that it says', (t) => {
  const share = { revoked_at: null, expires_at: '2026-01-31T10:00:00.000Z' };
  t.is(shareStatus(share, NOW + 3_599_999), 'active');
  t.is(shareStatus(share, NOW + 3_600_000), 'expired');
  t.is(shareStatus({ ...share, revoked_at: share.expires_at }, NOW), 'revoked');
});

test('many views are one event, and without views there is no event', async (t) => {
  const stores = await openTestStores(t);
  const commands = openShares(stores.log);
  const share_id = await created(commands);
  let now = NOW;
  const uses = openShareUses(commands, silent, () => now);
  for (let n = 0; n < 1000; n++) uses.count(share_id);
  now += 5000;
  uses.count(share_id);
  const last_used_at = '2026-01-31T09:00:05.000Z';
  t.deepEqual(uses.pending(share_id), { count: 1001, last_used_at });
  t.is((await eventsOf(stores, share_id)).length, 1);
  await uses.close();
  t.is(uses.pending(share_id), null);
  await uses.close();
  const [, used, ...more] = await eventsOf(stores, share_id);
  t.deepEqual([used, more], [{ type: 'ShareUsed', data: { count: 1001, last_used_at } }, []]);
  t.true(Value.Check(VOCABULARY.share_uses.ShareUsed.schema, used!.data));
  t.like(await documentOf(stores, share_id), { use_count: 1001, last_used_at });
});

test('http loses and logs views that the log refuses, and continues', async (t) => {
  const told: { msg: string; lost: number }[] = [];
  const log = pino({}, { write: (line: string) => void told.push(JSON.parse(line)) });
  const recorded: string[] = [];
  const uses = openShareUses(
    {
      ...openShares(null as never),
      async recordUses(share_id) {
        if (share_id === 'a') throw new Error('the log is gone');
        recorded.push(share_id);
      },
    },
    log,
    () => NOW,
  );
  for (const share_id of ['a', 'a', 'b']) uses.count(share_id);
  await uses.close();
  t.deepEqual(recorded, ['b']);
  t.like(told[0], { msg: 'http lost views of a share', lost: 2 });
});

test('the deletion of a job deletes its shares', async (t) => {
  const stores = await openTestStores(t);
  const commands = openShares(stores.log);
  const share_id = await created(commands);
  const deleted = { id: commandContext().command_id, type: 'JobDeleted', data: {} };
  const metadata = {
    command_id: deleted.id,
    causation_id: 'test',
    actor: 'user:alice',
    at: '2026-01-31T09:00:00.000Z',
  };
  await stores.log.append('job-j', 'no_stream', [{ ...deleted, metadata }]);
  t.is(await documentOf(stores, share_id), null);
});
