// The administrators' list of users, over drawn users: each filter, sort and search equals a plain count, however the events were batched.
// A store's test enrols with one line.
import type { TestFn } from 'ava';
import type { LogEvent } from '../../events/vocabulary.ts';
import { userListProjection } from '../../projections/users/user-list.ts';
import type { Document, Documents } from '../../readmodels/documents.ts';
import { searchBlocks, userCounts, userList } from '../../readmodels/users/user-list.ts';
import {
  USER_FILTERS,
  USER_SORTS,
  type UsersPage,
  type UsersQuery,
  usersPage,
} from '../../readmodels/users/user-pages.ts';
import { openRandom } from '../torture/random.ts';
import { type Fixture, sentences } from './documents/fixture.ts';

const NOW = Date.parse('2026-11-22T09:00:00.000Z');
const DAY_MS = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();
const dayStart = (days_ago: number) => Date.parse(iso(NOW).slice(0, 10)) - days_ago * DAY_MS;

interface Drawn {
  user_id: string;
  email: string | null;
  name: string | null;
  registered_ms: number;
  is_admin: boolean;
  is_starred: boolean;
  is_erased: boolean;
  is_flagged: boolean;
  balance: number;
  jobs: number;
  last_job_ms: number | null;
  plan: 'paying' | 'trial' | 'free';
}

const SUBSCRIPTION = {
  ...{ plan: 'pro', interval: 'month', status: 'active', cancel_at: null, customer_id: 'cus_1' },
  ...{ period_start: iso(NOW - 10 * DAY_MS), changed_at: iso(NOW - 10 * DAY_MS) },
};
const FIRST_NAMES = ['Zoë', 'Ada', 'Grace', 'Linus', 'Barbara'];

/** Events in the order of the log, and the plain facts beside them. */
interface Year {
  events: LogEvent[];
  users: Drawn[];
}

function draw(count: number): Year {
  const random = openRandom(18);
  const logged: { ms: number; event: LogEvent }[] = [];
  const users: Drawn[] = [];
  for (let n = 0; n < count; n++) {
    const user_id = `u${(n * 7919) % 100_003}`;
    const registered_ms = NOW - random.between(DAY_MS, 300 * DAY_MS);
    let ms = registered_ms;
    const log = (category: string, type: LogEvent['type'], data: object, at = (ms += 1000)) => {
      const metadata = { command_id: '', causation_id: '', actor: 'test', at: iso(at) };
      const stream = category === 'job' ? `job-${n}` : `${category}-${user_id}`;
      const id = `${n}.${logged.length}`;
      logged.push({
        ms: at,
        event: { id, stream, type, revision: 0, position: '', data, metadata } as unknown as LogEvent,
      });
    };
    const email = random.chance(0.95) ? `${user_id}@${random.chance(0.1) ? 'rare' : 'example'}.com` : null;
    log('user', 'UserRegistered', { user_id, email: null }, registered_ms);
    if (email !== null) log('user', 'UserUpdated', { email });
    const name = random.chance(0.5) ? `${FIRST_NAMES[n % FIRST_NAMES.length]} ${n}` : null;
    if (name !== null) log('user', 'UserNamed', { name });
    const is = (share: number, type: LogEvent['type'], data = {}) => {
      const so = random.chance(share);
      if (so) log('user', type, data);
      return so;
    };
    const is_admin = is(0.02, 'UserRoleSeen', { is_admin: true });
    if (is(0.1, 'UserStarred')) is(0.5, 'UserUnstarred');
    const events = logged.filter(({ event }) => event.stream === `user-${user_id}`).map(({ event }) => event.type);
    const is_starred = events.includes('UserStarred') && !events.includes('UserUnstarred');
    const is_withheld = is(0.05, 'SignupBonusWithheld', { reason: 'address_limit' });
    const balance = random.between(0, 500);
    log('credits', 'CreditsGranted', { balance_after: balance });
    const owes = random.chance(0.03);
    if (owes) log('credits', 'CreditsReversed', { balance_after: balance, owed: 5 });
    if (owes && random.chance(0.5)) log('credits', 'CreditsRecovered', { balance_after: balance, amount: -5 });
    const still_owes = owes && logged.at(-1)!.event.type === 'CreditsReversed';
    const last_job_ms = random.chance(0.7) ? random.between(ms + 1000, NOW) : null;
    const jobs = last_job_ms === null ? 0 : random.between(1, 3);
    for (let job = 0; job < jobs; job++) log('job', 'JobCreated', { owner_id: user_id }, last_job_ms! - job);
    const plan = random.chance(0.1) ? 'paying' : random.chance(0.05) ? 'trial' : 'free';
    const was = random.chance(0.1);
    if (plan === 'paying' || was) {
      const period_end = iso(
        plan === 'paying' ? NOW + random.between(0, 20) * DAY_MS : dayStart(8) - random.between(0, 9) * DAY_MS,
      );
      log('subscription', 'SubscriptionChanged', { ...SUBSCRIPTION, subscription_id: `s${n}`, period_end });
    }
    if (plan === 'trial' || (plan === 'paying' && was)) {
      log('subscription', 'TrialStarted', {
        plan: 'pro',
        period_start: iso(ms),
        period_end: iso(NOW + 1 + n),
        job_id: 'j',
      });
    }
    const is_erased = is(0.1, 'UserErased');
    if (is_erased) is(0.5, 'UserForgotten');
    users.push({
      user_id,
      email: is_erased ? null : email,
      name: is_erased ? null : name,
      registered_ms,
      is_admin,
      is_starred,
      ...{ is_erased, is_flagged: is_withheld || still_owes, balance, jobs, last_job_ms, plan },
    });
  }
  logged.sort((a, b) => a.ms - b.ms);
  return { events: logged.map(({ event }) => event), users };
}

/** Applies the events in transactions of these sizes, some of which fail at first. */
async function apply(documents: Documents, year: Year, sizes: readonly number[]): Promise<void> {
  const { types } = userListProjection;
  const events = year.events.filter(({ type }) => types.includes(type));
  const write = (part: LogEvent[], fails: boolean) =>
    documents.transaction(async (inside) => {
      await userListProjection.apply(part, (spec) => inside.collection(spec));
      if (fails) throw new Error('not committed');
    });
  for (let from = 0, n = 0; from < events.length; n++) {
    const part = events.slice(from, from + sizes[n % sizes.length]!);
    if (n % 5 === 3) await write(part, true).catch(() => {});
    await write(part, false);
    from += part.length;
  }
}

const all = async <T extends Document>(documents: Documents, spec: Parameters<Documents['collection']>[0]) =>
  (await Array.fromAsync((await documents.collection(spec)).stream({}))) as T[];

function reads(documents: Documents) {
  const [list, blocks, counts] = [
    documents.reading(userList),
    documents.reading(searchBlocks),
    documents.reading(userCounts),
  ];
  return { userList: list, searchBlocks: blocks, userCounts: counts };
}

const QUERY: UsersQuery = {
  ...{ filter_type: 'all', hide_deleted: true, hide_admin: true, only_starred: false, search: '' },
  ...{ sort_by: 'pinned', sort_order: 'desc', limit: 20, offset: 0 },
};

/** What the list must show, counted from the facts. */
function expectedOf(year: Year, query: UsersQuery): string[] {
  const { filter_type, search } = query;
  const isActive = (user: Drawn) => user.last_job_ms !== null && user.last_job_ms >= dayStart(29);
  const text = search.trim().toLowerCase();
  const shown = year.users.filter(
    (user) =>
      !(query.hide_deleted && user.is_erased) &&
      !(query.hide_admin && user.is_admin) &&
      !(query.only_starred && !user.is_starred) &&
      (filter_type === 'all' ||
        user.plan === filter_type ||
        (filter_type === 'flagged' && user.is_flagged) ||
        (filter_type === 'active' && isActive(user)) ||
        (filter_type === 'inactive' && !isActive(user))) &&
      [user.user_id, user.email ?? '', user.name ?? ''].some((part) => part.toLowerCase().includes(text)),
  );
  const key = (user: Drawn): string | number => {
    const keys = { registered_at: user.registered_ms, last_job_at: user.last_job_ms ?? -1, email: user.email ?? '' };
    if (query.sort_by === 'pinned') return user.registered_ms;
    if (query.sort_by === 'jobs_created') return user.jobs;
    return query.sort_by === 'credit_balance' ? user.balance : keys[query.sort_by];
  };
  const turn = query.sort_order === 'asc' ? 1 : -1;
  return shown
    .toSorted((a, b) => {
      if (query.sort_by === 'pinned' && a.is_starred !== b.is_starred) return a.is_starred ? -1 : 1;
      const [left, right] = key(a) === key(b) ? [a.user_id, b.user_id] : [key(a), key(b)];
      return left < right ? -turn : turn;
    })
    .map(({ user_id }) => user_id);
}

const idsOf = ({ items }: UsersPage) => items.map(({ _id }) => _id);

export function userListContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);
  const year = draw(1_300);
  const expected = (query: UsersQuery) => expectedOf(year, query);

  sentence('a list that is not built yet is empty', async (t, { documents }) => {
    for (const query of [QUERY, { ...QUERY, filter_type: 'paying', search: 'a' } as const]) {
      t.deepEqual(await usersPage(reads(documents), query, NOW), { items: [], total: 0, is_cut: false });
    }
  });

  sentence('every filter, sort and search shows the users of a plain count, page by page', async (t, { documents }) => {
    await apply(documents, year, [1, 7, 500]);
    const read = reads(documents);
    const yes_no = [true, false];
    for (const filter_type of USER_FILTERS)
      for (const hide_deleted of yes_no)
        for (const hide_admin of yes_no)
          for (const only_starred of yes_no) {
            const query = { ...QUERY, filter_type, hide_deleted, hide_admin, only_starred };
            const ids = expected(query);
            const label = JSON.stringify(query);
            const [first, last] = [
              await usersPage(read, query, NOW),
              await usersPage(read, { ...query, offset: Math.max(ids.length - 5, 0) }, NOW),
            ];
            t.deepEqual([first.total, first.is_cut], [ids.length, false], label);
            t.deepEqual(idsOf(first), ids.slice(0, 20), label);
            t.deepEqual(idsOf(last), ids.slice(-5), label);
          }
    for (const sort_by of USER_SORTS)
      for (const sort_order of ['asc', 'desc'] as const)
        for (const filter_type of ['all', 'paying'] as const) {
          const query = { ...QUERY, filter_type, sort_by, sort_order, limit: 100 };
          const pages: string[] = [];
          for (let offset = 0; ; offset += 100) {
            const page = await usersPage(read, { ...query, offset }, NOW);
            if (page.items.length === 0) break;
            pages.push(...idsOf(page));
          }
          t.deepEqual(pages, expected(query), JSON.stringify(query));
        }
    for (const search of [
      'u12',
      'U12',
      'rare.com',
      'zoë',
      'ZOË 5',
      '@rare',
      ' ada ',
      'nobody',
      'u1\tu',
      '%',
      '_',
      '.*',
      'null',
      '\\u',
      '[]',
      '[[:x:]]',
      'u\0',
      '(',
      '/',
      '^',
      'x'.repeat(201),
    ])
      for (const filter_type of ['all', 'free', 'trial'] as const)
        for (const hide_deleted of yes_no) {
          const query = { ...QUERY, search, filter_type, hide_deleted };
          const page = await usersPage(read, query, NOW);
          t.deepEqual([page.total, page.is_cut], [expected(query).length, false], JSON.stringify(query));
          t.deepEqual(idsOf(page), expected(query).slice(0, 20), JSON.stringify(query));
        }
  });

  sentence('a few users are sorted as the store sorts many', async (t, { documents }) => {
    const users = ['\u{1f600}', '\uffee', 'b', null, 'B', 'é'].map((email, n) => {
      const log = { stream: `user-${n}`, revision: 0, position: '', metadata: { at: iso(NOW) } };
      return { ...log, id: `${n}`, type: 'UserRegistered', data: { user_id: `${n}`, email } } as unknown as LogEvent;
    });
    await apply(documents, { events: users, users: [] }, [10]);
    const read = reads(documents);
    for (const [sort_order, direction] of [
      ['asc', 1],
      ['desc', -1],
    ] as const) {
      const page = await usersPage(read, { ...QUERY, sort_by: 'email', sort_order }, NOW);
      const stored = await read.userList.find({}, { sort: { email: direction, _id: direction } });
      t.deepEqual(
        page.items.map(({ email }) => email),
        stored.map(({ email }) => email),
      );
    }
  });

  sentence('a search that is long, or becomes long when it is folded, finds a name whole', async (t, { documents }) => {
    const names = ['\ufb03'.repeat(190), `${'\ufb03'.repeat(66)}a\u{1f600}${'b'.repeat(100)}`, '\ufdfa'.repeat(200)];
    const named = names.flatMap((name, n) => {
      const [user_id, at] = [`long-${n}`, iso(NOW)];
      const event = (type: string, data: object) =>
        ({ id: `${user_id}/${type}`, stream: `user-${user_id}`, type, data, metadata: { at } }) as unknown as LogEvent;
      return [event('UserRegistered', { user_id, email: null }), event('UserNamed', { name })];
    });
    await apply(documents, { events: [...year.events, ...named], users: [] }, [500]);
    const found = async (search: string) => idsOf(await usersPage(reads(documents), { ...QUERY, search }, NOW));
    for (const [n, name] of names.entries()) {
      t.deepEqual(await found(name), [`long-${n}`]);
      t.deepEqual(await found(`${name}c`), []);
    }
    t.deepEqual(await found(names[1]!.slice(1)), ['long-1'], 'two halves of a character at the end of a pattern');
  });

  sentence(
    'a search that more users match than it takes finds the newest of them, and says so',
    async (t, { documents }) => {
      await apply(documents, year, [2_000]);
      const read = reads(documents);
      const everyone = { ...QUERY, search: 'u', hide_deleted: false, hide_admin: false };
      const page = await usersPage(read, { ...everyone, sort_by: 'registered_at' }, NOW);
      t.true(page.is_cut);
      t.is(page.total, 1_000);
      const newest = year.users.toSorted((a, b) => b.registered_ms - a.registered_ms).map(({ user_id }) => user_id);
      t.deepEqual(idsOf(page), newest.slice(0, 20));
      const rare = await usersPage(read, { ...everyone, filter_type: 'paying' }, NOW);
      t.deepEqual([rare.is_cut, rare.total], [false, expected({ ...everyone, filter_type: 'paying' }).length]);
    },
  );

  sentence(
    'the documents do not depend on how the events were batched, and keep nothing of the erased',
    async (t, { documents }) => {
      await apply(documents, year, [1, 7, 500]);
      const one = new Map<string, Document[]>();
      for (const spec of [userList, searchBlocks, userCounts]) {
        one.set(spec.name, await all(documents, spec as never));
        await documents.drop(spec.name);
      }
      await apply(documents, year, [3_000]);
      for (const spec of [userList, searchBlocks, userCounts]) {
        const [left, right] = [one.get(spec.name)!, await all(documents, spec as never)];
        t.true(left.length > 0);
        t.deepEqual(left, right, spec.name);
      }
      const erased = year.users.filter(({ is_erased }) => is_erased);
      t.true(erased.length > 50);
      const text = JSON.stringify([...one.values()]);
      for (const { user_id } of erased) t.false(text.includes(`${user_id}@`), user_id);
      t.false(text.includes('cus_1'));
    },
  );
}
