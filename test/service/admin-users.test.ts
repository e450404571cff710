// The administrators' routes for users, from outside: what they change, who sees it, and what the trail says of it.
import test from 'ava';
import { openErasures } from '../../commands/users/user.ts';
import { until } from '../support/behind.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

let service: TestService;
let root: TestClient;
test.before(async () => {
  service = await startTestService();
  root = await service.client('root', { is_admin: true });
  await root.ask('GET', '/users/me');
});
test.after.always(() => service?.stop());

async function signedUp(user_id: string): Promise<TestClient> {
  const user = await service.client(user_id);
  await user.ask('GET', '/users/me');
  return user;
}
const idsOf = ({ body }: Answer) => body.items.map((user: { user_id: string }) => user.user_id);
const trailOf = async (query: string) => (await root.ask('GET', `/admin/audit-trail?${query}`)).body;

test('the list shows users as they sign up, starred ones first, and administrators only when asked', async (t) => {
  for (const user_id of ['list-1', 'list-2', 'list-3']) await signedUp(user_id);
  const list = async (query = '') => idsOf(await root.ask('GET', `/admin/users?search=list-&${query}`));
  t.deepEqual(await list(), ['list-3', 'list-2', 'list-1']);
  t.deepEqual((await root.ask('PATCH', '/admin/users/list-1/star')).body, { user_id: 'list-1', is_starred: true });
  t.deepEqual(await list(), ['list-1', 'list-3', 'list-2']);
  t.deepEqual(await list('only_starred=true'), ['list-1']);
  t.deepEqual(await list('limit=1&offset=1'), ['list-3']);
  t.deepEqual(await list('sort_by=registered_at&sort_order=asc'), ['list-1', 'list-2', 'list-3']);
  await root.ask('PATCH', '/admin/users/list-1/star', { is_starred: true });
  t.deepEqual(await list('only_starred=true'), ['list-1'], 'a repeat with a value changes nothing');
  await root.ask('PATCH', '/admin/users/list-1/star');
  t.deepEqual(await list('only_starred=true'), []);
  t.deepEqual(idsOf(await root.ask('GET', '/admin/users?search=ROOT@example')), []);
  const shown = await root.ask('GET', '/admin/users?search=ROOT@example&hide_admin=false');
  t.like(shown.body, {
    total: 1,
    is_cut: false,
    items: [{ user_id: 'root', is_admin: true, email: 'root@example.com' }],
  });
  for (const query of ['filter_type=rich', 'sort_by=id', 'sort_order=up', 'limit=1001', 'hide_admin=maybe']) {
    t.is((await root.ask('GET', `/admin/users?${query}`)).status, 422, query);
  }
});

test('a user is shown with plan, usage, ledger, jobs and what administrators did', async (t) => {
  const user = await signedUp('shown');
  const { body: job } = await user.upload('http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b\n');
  await user.ended(job.job_id);
  await root.ask('PATCH', '/admin/users/shown/notes', { notes: 'Asked for an invoice.' });
  await root.ask('PATCH', '/admin/users/shown', { custom_limit: 50, reason: 'a trial' });
  const { body } = await root.ask('GET', '/admin/users/shown');
  t.like(body, {
    ...{ user_id: 'shown', email: 'shown@example.com', notes: 'Asked for an invoice.', has_notes: true, plan: 'free' },
    ...{ custom_limit: 50, credit_balance: 298, jobs_created: 1, last_job_at: job.created_at, signup_bonus: 'granted' },
    ...{ subscription: null, usage: { credits_used: 2, limit: 50, remaining: 48 }, flags: [], deleted_at: null },
    transactions: [
      { transaction_type: 'reservation', amount: -2, balance_after: 298 },
      { transaction_type: 'signup_bonus' },
    ],
    jobs: [{ job_id: job.job_id, status: 'completed' }],
    audit_trail: [
      { action: 'usage_limit_set', admin_id: 'root', user_id: 'shown', reason: 'a trial', details: { limit: 50 } },
      { action: 'notes_updated', reason: null, details: {} },
    ],
  });
  t.like((await root.ask('GET', '/admin/users?search=shown&filter_type=active')).body, {
    items: [{ user_id: 'shown', credit_balance: 298, jobs_created: 1 }],
  });
  await root.ask('PATCH', '/admin/users/shown', { custom_limit: null });
  await root.ask('PATCH', '/admin/users/shown/notes', { notes: '' });
  t.like((await root.ask('GET', '/admin/users/shown')).body, { custom_limit: null, notes: null, has_notes: false });
  t.is((await root.ask('PATCH', '/admin/users/shown', { custom_limit: -1 })).status, 422);
  t.is((await root.ask('PATCH', '/admin/users/shown/notes', { notes: 'x'.repeat(10_001) })).status, 422);

  const replace = (replaces: string | null, notes: string | null) =>
    root.ask('PATCH', '/admin/users/shown/notes', { notes, replaces });
  t.is((await replace('', 'One')).status, 200);
  t.like(await replace(null, 'Two'), { status: 409, body: { code: 'notes_changed' } });
  t.is((await replace(null, 'One')).status, 200, 'the same request again');
  t.is((await replace('One', null)).status, 200);
  t.is((await root.ask('GET', '/admin/users/nobody')).status, 404);
});

test('credits are adjusted either way, once for a key, and a refusal says what is possible', async (t) => {
  const user = await signedUp('adjusted');
  const adjust = (query: string, key?: string) =>
    root.ask('POST', `/admin/users/adjusted/adjust-credits?${query}`, undefined, key ? { 'idempotency-key': key } : {});
  t.deepEqual((await adjust('amount=20&reason=sorry')).body, { user_id: 'adjusted', amount: 20, credit_balance: 320 });
  const all = await Promise.all(Array.from({ length: 5 }, () => adjust('amount=-300&reason=double', 'key')));
  t.deepEqual(
    all.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  t.is(all.filter(({ headers }) => headers.get('idempotency-replayed') === 'true').length, 4);
  t.is((await user.ask('GET', '/users/me/credits')).body.credit_balance, 20);
  const more = await adjust('amount=-21');
  t.like(more, { status: 409, body: { code: 'insufficient_credits', details: { credit_balance: 20 } } });
  t.regex(more.body.detail, /at most 20/);
  t.like(await adjust('amount=-301&reason=double', 'key'), { status: 409, body: { code: 'idempotency_key_mismatch' } });
  for (const query of ['amount=0', 'amount=1.5', 'amount=', '', `amount=1&reason=${'x'.repeat(501)}`, 'amount=1e300']) {
    t.is((await adjust(query)).status, 422, query);
  }
  t.is((await adjust('amount=-20')).body.credit_balance, 0);
  const { items } = await trailOf('user_id=adjusted');
  t.deepEqual(
    items.map((entry: Answer['body']) => [entry.action, entry.details.amount, entry.reason]),
    [-20, -300, 20].map((amount, n) => ['credits_adjusted', amount, [null, 'double', 'sorry'][n]]),
  );
});

test('the usage that is set is what the limit is held against', async (t) => {
  const user = await signedUp('used');
  await root.ask('PATCH', '/admin/users/used', { custom_limit: 100 });
  const set = await root.ask('POST', '/admin/users/used/set-usage?new_usage=95&reason=moved');
  t.like(set, { status: 200, body: { credits_used: 95, limit: 100, remaining: 5 } });
  t.like((await user.ask('GET', '/users/me/quota')).body, { usage: { credits_used: 95, remaining: 5 } });
  t.is((await root.ask('POST', '/admin/users/used/set-usage?new_usage=-1')).status, 422);
  t.is((await root.ask('POST', '/admin/users/used/set-usage')).status, 422);
});

test('the trail is filtered by user, administrator, action and time, page by page', async (t) => {
  await signedUp('trailed');
  const other = await service.client('auditor', { is_admin: true });
  await other.ask('PATCH', '/admin/users/trailed/star', { is_starred: true });
  await root.ask('PATCH', '/admin/users/trailed/notes', { notes: 'first' });
  await other.ask('PATCH', '/admin/users/trailed/notes', { notes: 'second' });
  await other.ask('POST', '/domains/blocked', { domain: 'trailed.example' });
  const actions = ({ items }: Answer['body']) => items.map((entry: Answer['body']) => entry.action);
  t.deepEqual(actions(await trailOf('user_id=trailed')), ['notes_updated', 'notes_updated', 'user_starred']);
  t.deepEqual(actions(await trailOf('admin_id=auditor')), ['domain_blocked', 'notes_updated', 'user_starred']);
  t.like(await trailOf('admin_id=auditor&limit=1&offset=1'), { total: 3, items: [{ action: 'notes_updated' }] });
  const both = await trailOf('admin_id=auditor&action=notes_updated&user_id=trailed');
  t.is(both.total, 1);
  const { at } = both.items[0];
  t.is((await trailOf(`user_id=trailed&from=${at}`)).total, 1);
  t.is((await trailOf(`user_id=trailed&to=${at}`)).total, 2);
  t.like((await trailOf('action=domain_blocked&admin_id=auditor')).items, [
    { target: 'trailed.example', user_id: null },
  ]);
  t.is((await root.ask('GET', '/admin/audit-trail?action=none')).status, 422);
  t.false(
    JSON.stringify(await trailOf('user_id=trailed')).includes('second'),
    'the notes themselves are no part of it',
  );
});

test('an erased user is hidden, found by the id alone, and changed no more', async (t) => {
  await signedUp('erased-one');
  await root.ask('PATCH', '/admin/users/erased-one', { custom_limit: 9, reason: 'because of Bob' });
  const log = await openFolderLog(service.data_dir);
  t.teardown(() => log.close());
  await openErasures(log).erase('erased-one', commandContext());
  await until(async () => (await root.ask('GET', '/admin/users/erased-one')).body.deleted_at !== null);
  const { body } = await root.ask('GET', '/admin/users/erased-one');
  t.like(body, { email: null, name: null, notes: null, custom_limit: 9 });
  t.false(JSON.stringify(body).includes('Bob'));
  const list = async (query: string) => idsOf(await root.ask('GET', `/admin/users?${query}`));
  t.deepEqual(await list('search=erased-one'), []);
  t.deepEqual(await list('search=erased-one&hide_deleted=false'), ['erased-one']);
  t.deepEqual(await list('search=erased-one@&hide_deleted=false'), []);
  for (const [method, path, given] of [
    ['PATCH', '', { custom_limit: 1 }],
    ['PATCH', '/notes', { notes: 'a' }],
    ['PATCH', '/star', {}],
    ['POST', '/adjust-credits?amount=1', undefined],
    ['POST', '/set-usage?new_usage=1', undefined],
  ] as const) {
    const refused = await root.ask(method, `/admin/users/erased-one${path}`, given);
    t.like(refused, { status: 409, body: { code: 'user_erased' } }, path);
  }
});
