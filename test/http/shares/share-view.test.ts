// What a visitor of a shared link is answered, at a time that the test holds.
import test from 'ava';
import { idOfShareToken } from '../../../commands/shares.ts';
import { openKeptReplies } from '../../../http/frame/answers/kept-replies.ts';
import { type Deps, view } from '../../../http/shares/shares.ts';
import { noStats } from '../../../readmodels/results/stats.ts';
import { startSample } from '../sample-app.ts';

const TOKEN = 'A'.repeat(43);
const EXPIRY = Date.parse('2026-01-31T10:00:00.000Z');

test('an expired link, and a link to a deleted job, get the answer of an unknown one', async (t) => {
  let now = EXPIRY - 1;
  const times = { created_at: '2026-01-31T09:00:00.000Z', started_at: null, completed_at: null };
  let job: object | null = {
    _id: 'j',
    owner_id: 'alice',
    status: 'processing',
    total_urls: 1,
    completed_urls: 0,
    ...times,
  };
  const counted: string[] = [];
  const share = {
    _id: idOfShareToken(TOKEN),
    job_id: 'j',
    revoked_at: null,
    expires_at: new Date(EXPIRY).toISOString(),
  };
  const services = {
    now: () => now,
    isOpen: async () => true,
    kept: openKeptReplies({ flips: 0, position: async () => '' }),
    shareUses: { count: (share_id: string) => void counted.push(share_id) },
    read: {
      shares: { get: async (id: string) => (id === share._id ? share : null) },
      jobs: { get: async () => job },
      results: { find: async () => [], count: async () => 0 },
      jobStats: { get: async () => noStats('j') },
    },
  } as unknown as Deps;
  const sample = await startSample([view], services);
  const look = async (token = TOKEN) => {
    const response = await sample.request(`/share/${token}`);
    return { status: response.status, body: await response.json() };
  };
  t.is((await look()).status, 200);
  const unknown = await look('B'.repeat(43));
  t.is(unknown.status, 404);
  now = EXPIRY;
  t.deepEqual(await look(), unknown);
  now = EXPIRY - 1;
  job = null;
  t.deepEqual(await look(), unknown);
  t.deepEqual(counted, [share._id], 'and only what was seen is counted');
  await sample.close();
});
