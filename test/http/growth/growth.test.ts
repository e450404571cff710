// The figures of one service agree from route to route; its notes; and how long its public statistics are kept.
import test from 'ava';
import { MAX_NOTE_CHARS } from '../../../events/growth-note.ts';
import type { RouteRequest } from '../../../http/frame/route.ts';
import type { Parts } from '../../../http/group.ts';
import { cached, group as publicStats } from '../../../http/growth/public-stats.ts';
import { addDays, dayOf } from '../../../readmodels/growth/calendar.ts';
import { type DayCountsDocument, idOfDay } from '../../../readmodels/growth/day-counts.ts';
import { GROWTH } from '../../../readmodels/growth/growth.ts';
import { startTestService, type TestClient, type TestService } from '../../support/service.ts';
import { openSite, type Site } from '../../support/sites.ts';

let service: TestService;
let site: Site;
let root: TestClient;

test.before(async () => {
  site = await openSite();
  service = await startTestService();
  root = await service.client('root', { is_admin: true });
});
test.after.always(async () => {
  await site?.close();
  await service?.stop();
});

const bodyOf = async (path: string) => {
  const { status, body } = await root.ask('GET', path);
  if (status !== 200) throw new Error(`${path}: ${status}`);
  return body;
};
const dashboard = (period = '30d') => bodyOf(`/admin/growth-dashboard?period=${period}`);

test('users, jobs and URLs are the same on every page', async (t) => {
  const [alice, bob] = [await service.client('alice'), await service.client('bob')];
  const checkout = await bob.ask('POST', '/checkout/create', { plan: 'pro', interval: 'month' });
  await fetch(`${checkout.body.checkout_url}/pay`, { method: 'POST' });
  for (const urls of [3, 4]) {
    const { body } = await alice.upload(Array.from({ length: urls }, (_, n) => `${site.url}/same/${n}`).join('\n'));
    await alice.ended(body.job_id);
  }
  // The results are counted for each domain soon after the job has ended.
  let shown = await dashboard();
  while (shown.totals.urls_checked < 7 || shown.revenue.customers_end < 1) shown = await dashboard();
  const { totals, active, funnel, series, revenue } = shown;
  t.like(totals, { users: 3, signups: 3, active_users: 1, jobs: 2, urls_checked: 7 });
  t.like(series.at(-1), { users: 3, dau: 1, jobs: 2, urls_checked: 7 });
  for (const period of ['7d', '90d', '12m', 'all']) t.deepEqual((await dashboard(period)).totals, totals, period);

  const listed = async (filter_type: string) =>
    (await bodyOf(`/admin/users?hide_admin=false&filter_type=${filter_type}`)).total;
  t.deepEqual(
    [await listed('all'), await listed('active'), await listed('paying')],
    [totals.users, active.mau, revenue.customers_end],
  );
  const { users: _, signups: __, ...figures } = totals;
  const everybody = await fetch(`${service.url}/public-stats`);
  t.like(await everybody.json(), figures);
  const activity = await bodyOf('/admin/user-activity/alice');
  t.like(activity, { jobs: totals.jobs, active_days: 1 });
  const retention = await bodyOf('/admin/retention-stats');
  t.like(retention, { active, funnel });
  const [cohort] = (await bodyOf('/admin/cohort-table')).items;
  t.like(cohort, { users: totals.signups, retention: [{ active_users: totals.active_users }] });
});

test('a note is shown beside its day until it is deleted', async (t) => {
  const add = (body: object) => root.ask('POST', '/admin/growth-notes', body);
  const remove = async (id: string) => (await root.ask('DELETE', `/admin/growth-notes/${id}`)).status;
  const today = dayOf(Date.now());
  const text = '<script>alert(1)</script>\u202e\n  {{7*7}} 🦊';
  const [note, old] = [(await add({ text })).body, (await add({ text: 'old', date: addDays(today, -8) })).body];
  t.like(note, { text, date: today, added_by: 'admin:root' });
  const notesOf = async (period: string) => (await dashboard(period)).notes;
  t.deepEqual(await notesOf('7d'), [note]);
  t.deepEqual(await notesOf('30d'), [note, old]);
  const { series } = await dashboard('30d');
  t.deepEqual([series.at(-1).note_ids, series.at(-9).note_ids], [[note.note_id], [old.note_id]]);

  const wrong = [
    { text: ' ' },
    { text: 'a'.repeat(MAX_NOTE_CHARS + 1) },
    { text, date: '2026-02-30' },
    { date: today },
  ];
  for (const body of wrong) t.is((await add(body)).status, 422, JSON.stringify(body).slice(0, 40));

  t.deepEqual(await Promise.all([note, note, old].map(({ note_id }) => remove(note_id))), [204, 204, 204]);
  t.is(await remove(note.note_id), 204, 'it may be deleted again');
  t.is(await remove(crypto.randomUUID()), 404);
  t.deepEqual(await notesOf('30d'), []);
});

test('callers at the same time share one read, which is kept for its time', async (t) => {
  let [reads, now_ms] = [0, 0];
  const read = cached(
    async () => ++reads,
    () => 60,
    () => now_ms,
  );
  t.deepEqual(await Promise.all([read(), read(), read()]), Array(3).fill({ value: 1, age_s: 0, for_s: 60 }));
  now_ms = 59_999;
  t.deepEqual(await read(), { value: 1, age_s: 59, for_s: 60 });
  now_ms = 60_000;
  t.deepEqual(await Promise.all([read(), read()]), Array(2).fill({ value: 2, age_s: 0, for_s: 60 }));
});

test('after a read that failed the next caller reads again', async (t) => {
  let reads = 0;
  const read = cached(
    async () => {
      if (++reads === 1) throw new Error('away');
      return reads;
    },
    () => 60,
  );
  const both = await Promise.allSettled([read(), read()]);
  t.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.is((await read()).value, 2);
});

test('an answer is kept for as long as it says itself', async (t) => {
  let [reads, now_ms] = [0, 0];
  const read = cached(
    async () => ++reads,
    (value) => (value === 1 ? 10 : 60),
    () => now_ms,
  );
  t.deepEqual(await read(), { value: 1, age_s: 0, for_s: 10 });
  now_ms = 10_000;
  t.deepEqual(await read(), { value: 2, age_s: 0, for_s: 60 });
  now_ms = 69_999;
  t.like(await read(), { value: 2 });
});

test('public statistics that were read before the read models are built are kept for seconds, and others for an hour', async (t) => {
  const ask = async (documents: DayCountsDocument[]) => {
    const read = () => ({ growthCounts: { find: async () => documents } });
    const [route] = publicStats.open({ read, now: Date.now } as unknown as Parts);
    const { body, headers } = await route!.handler({} as RouteRequest, undefined as never);
    return [(body as { jobs: number }).jobs, headers!['cache-control']];
  };
  t.deepEqual(await ask([]), [0, 'public, max-age=10']);
  const counted = { _id: idOfDay(dayOf(Date.now())), n: { [GROWTH.jobs]: 3 } };
  t.deepEqual(await ask([counted]), [3, 'public, max-age=3600']);
});
