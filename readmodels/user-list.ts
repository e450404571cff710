// The read models of the administrators' list of users: one document for each, which has all that the list is filtered and sorted by;
// the texts that a search reads; and counters, so that a total counts no documents.
import type { SubscriptionState } from '../events/subscription-state.ts';
import { addDays, dayOf, laterOf } from './calendar.ts';
import { type DayCountsDocument, dayCounts, idOfDay } from './day-counts.ts';
import type { Collection, CollectionSpec, Document, Filter, FindOptions, IndexSpec, Sort } from './documents.ts';
import type { Page, Paging } from './pages.ts';

/** `_id` is the user's id. Days are in UTC, and empty for none. */
export interface ListedUserDocument extends Document {
  /** False for a user of whom only money or jobs are known yet. */
  is_listed: boolean;
  email: string | null;
  name: string | null;
  /** ISO 8601. */
  registered_at: string;
  is_admin: boolean;
  is_starred: boolean;
  has_notes: boolean;
  /** When the user's erasure was asked for. */
  erased_at: string | null;
  is_erased: boolean;
  custom_limit: number | null;
  is_bonus_withheld: boolean;
  balance: number;
  owed: number;
  is_flagged: boolean;
  jobs_created: number;
  last_job_at: string | null;
  last_job_day: string;
  subscription: SubscriptionState;
  /** The last day of the paid plan, and of the trial, unless something changes. */
  paid_until: string;
  trial_until: string;
  /** The user's place among all, in the order of registration, from 0; -1 before it. It says which block has the search text. */
  place: number;
}

/** What filters test. The indexes of the sorts hold all of it, so that a page reads no document but its own. */
const TESTED = { is_erased: 1, is_admin: 1, is_flagged: 1, paid_until: 1, trial_until: 1, last_job_day: 1 } as const;

const sortedBy = (field: string): IndexSpec => ({
  fields: { is_listed: 1, [field]: -1, _id: -1, is_starred: 1, ...TESTED },
});
/** The index of each order, by its first field and its direction where that matters. */
const BY_SORT = {
  pinned_desc: { fields: { is_listed: 1, is_starred: -1, registered_at: -1, _id: -1, ...TESTED } },
  pinned_asc: { fields: { is_listed: 1, is_starred: -1, registered_at: 1, _id: 1, ...TESTED } },
  registered_at: sortedBy('registered_at'),
  last_job_at: sortedBy('last_job_at'),
  email: sortedBy('email'),
  jobs_created: sortedBy('jobs_created'),
  balance: sortedBy('balance'),
} satisfies Record<string, IndexSpec>;
/** The index of each kind of users that may be rare, by the field that tells them. */
const BY_KIND: Readonly<Record<string, IndexSpec>> = {
  is_flagged: { fields: { is_listed: 1, is_flagged: -1 } },
  paid_until: { fields: { is_listed: 1, paid_until: -1 } },
  trial_until: { fields: { is_listed: 1, trial_until: -1 } },
  last_job_day: { fields: { is_listed: 1, last_job_day: -1 } },
};

export const userList: CollectionSpec<ListedUserDocument> = {
  name: 'user_list',
  fields: {
    is_listed: 'boolean',
    is_starred: 'boolean',
    is_erased: 'boolean',
    is_admin: 'boolean',
    is_flagged: 'boolean',
    ...{ paid_until: 'string', trial_until: 'string', last_job_day: 'string' },
    ...{ registered_at: 'string', last_job_at: 'string', email: 'string', jobs_created: 'number', balance: 'number' },
  },
  indexes: [...Object.values(BY_SORT), ...Object.values(BY_KIND)],
};

/** The search texts of `USERS_A_BLOCK` users, in the order of registration: a search reads a few hundred long texts, not each user. */
export interface SearchBlockDocument extends Document {
  user_ids: string[];
  /** A line for each of them. */
  text: string;
}
export const searchBlocks: CollectionSpec<SearchBlockDocument> = {
  name: 'user_search',
  fields: { text: 'string' },
  indexes: [],
};
export const USERS_A_BLOCK = 256;
export const blockOf = (place: number) => String(Math.floor(place / USERS_A_BLOCK)).padStart(10, '0');

/** The form in which texts are compared: without case and accents, each character by itself, so that a part of a text folds alike. */
export const foldText = (text: string) =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll(/\s+/g, ' ');

/** The line of a user: nothing that is found spans two of its parts, because a folded text has no tab. */
export const searchLine = ({ _id, email, name }: Pick<ListedUserDocument, '_id' | 'email' | 'name'>) =>
  [_id, email ?? '', name ?? ''].map(foldText).join('\t');

export const userCounts = dayCounts('user_counts');
/** The document of the counters that are of no day. */
export const ALL_USERS = 'all';
/** The number of registered users, which gives each its place. */
export const PLACES = 'places';

type Facts = Pick<ListedUserDocument, 'is_erased' | 'is_admin' | 'is_starred'>;
/** Users with the same facts that every filter may test have one counter of each kind. */
const cellOf = ({ is_erased, is_admin, is_starred }: Facts) =>
  [is_erased, is_admin, is_starred].map((is) => (is ? 'y' : 'n')).join('');

/** The counters in which a user counts once: the id of the document, and the counter's name. */
export function countersOf(user: ListedUserDocument): [id: string, name: string][] {
  if (!user.is_listed) return [];
  const { is_flagged, last_job_day, paid_until, trial_until } = user;
  const cell = cellOf(user);
  const plan_until = laterOf(paid_until, trial_until);
  return [
    [ALL_USERS, `listed_${cell}`],
    ...(is_flagged ? [[ALL_USERS, `flagged_${cell}`] as [string, string]] : []),
    ...(last_job_day ? [[idOfDay(last_job_day), `active_${cell}`] as [string, string]] : []),
    ...(paid_until ? [[idOfDay(paid_until), `paying_${cell}`] as [string, string]] : []),
    ...(plan_until ? [[idOfDay(plan_until), `plan_${cell}`] as [string, string]] : []),
  ];
}

/** Within this many days, today included, a user who created a job is active. */
export const ACTIVE_DAYS = 30;
export const USER_FILTERS = ['all', 'paying', 'free', 'trial', 'active', 'inactive', 'flagged'] as const;
export type UserFilter = (typeof USER_FILTERS)[number];
export const USER_SORTS = [
  'pinned',
  'registered_at',
  'last_job_at',
  'jobs_created',
  'credit_balance',
  'email',
] as const;

export interface UsersQuery extends Paging {
  filter_type: UserFilter;
  hide_deleted: boolean;
  hide_admin: boolean;
  only_starred: boolean;
  sort_by: (typeof USER_SORTS)[number];
  sort_order: 'asc' | 'desc';
  search: string;
}

/** The condition of each filter. `today` is a day. */
function conditionOf(filter: UserFilter, today: string): Filter {
  const first_active = addDays(today, 1 - ACTIVE_DAYS);
  switch (filter) {
    case 'all':
      return {};
    case 'flagged':
      return { is_flagged: true };
    case 'paying':
      return { paid_until: { $gte: today } };
    case 'trial':
      return { trial_until: { $gte: today }, paid_until: { $lt: today } };
    case 'free':
      return { trial_until: { $lt: today }, paid_until: { $lt: today } };
    case 'active':
      return { last_job_day: { $gte: first_active } };
    case 'inactive':
      return { last_job_day: { $lt: first_active } };
  }
}

/** The order of the list, and the index that has it. */
function orderOf({ sort_by, sort_order }: UsersQuery): { sort: Sort; index: IndexSpec } {
  const direction = sort_order === 'asc' ? 1 : -1;
  if (sort_by === 'pinned') {
    const sort: Sort = { is_starred: -1, registered_at: direction, _id: direction };
    return { sort, index: BY_SORT[`pinned_${sort_order}`] };
  }
  const field = sort_by === 'credit_balance' ? 'balance' : sort_by;
  return { sort: { [field]: direction, _id: direction }, index: BY_SORT[field] };
}

/** At most so many users are read to be filtered and sorted here. */
const FEW = 1_000;
/** A search looks at the newest users whose text matches, so many of them. */
export const MAX_FOUND = FEW;

export interface UserListReads {
  userList: Pick<Collection<ListedUserDocument>, 'find' | 'getMany'>;
  searchBlocks: Pick<Collection<SearchBlockDocument>, 'find'>;
  userCounts: Pick<Collection<DayCountsDocument>, 'find' | 'get'>;
}

export interface UsersPage extends Page<ListedUserDocument> {
  /** Whether more users match the search than it looks at. */
  is_cut: boolean;
}

/**
 * A page of the list. `now`: milliseconds since the epoch. A rare kind of user is read by its own index and sorted here; of a common
 * one, the index of the sort has enough among its first entries.
 */
export async function usersPage(read: UserListReads, query: UsersQuery, now: number): Promise<UsersPage> {
  const today = dayOf(now);
  const { filter_type, hide_deleted, hide_admin, only_starred, limit, offset } = query;
  const condition = conditionOf(filter_type, today);
  const filter: Filter = {
    is_listed: true,
    ...(only_starred && { is_starred: true }),
    ...(hide_deleted && { is_erased: false }),
    ...(hide_admin && { is_admin: false }),
    ...condition,
  };
  const search = foldText(query.search.trim());
  const totals = await totalsOf(read.userCounts, query, today);
  const order = orderOf(query);
  const here = (found: readonly ListedUserDocument[], is_cut: boolean): UsersPage => {
    const all = found.filter((user) => matches(user, filter) && searchLine(user).includes(search));
    const items = all.toSorted(orderBy(order.sort)).slice(offset, offset + limit);
    return { items, total: all.length, is_cut };
  };
  const readFew = async (kind: Filter, index: IndexSpec) => {
    const few: FindOptions = { sort: { _id: 1 }, limit: FEW, index };
    return here(await read.userList.find({ is_listed: true, ...kind }, few), false);
  };
  if (only_starred && totals.starred <= FEW) return readFew({ is_starred: true }, BY_SORT.pinned_desc);
  if (totals.of_kind <= FEW) {
    const [field = ''] = Object.keys(condition);
    return readFew(condition, BY_KIND[field] ?? BY_SORT.registered_at);
  }
  if (search !== '') {
    const { user_ids, is_cut } = await searched(read.searchBlocks, search);
    return here(await read.userList.getMany(user_ids), is_cut);
  }
  const items = await readPage(read.userList, filter, order, { limit, offset }, totals.shown);
  return { items, total: totals.shown, is_cut: false };
}

/** A page beyond the middle is read from the end, which is nearer. */
async function readPage(
  users: UserListReads['userList'],
  filter: Filter,
  { sort, index }: ReturnType<typeof orderOf>,
  { limit, offset }: Paging,
  total: number,
): Promise<ListedUserDocument[]> {
  if (offset < total / 2) return users.find(filter, { sort, index, skip: offset, limit });
  const end = Math.min(offset + limit, total);
  if (end <= offset) return [];
  const reversed = Object.fromEntries(Object.entries(sort).map(([path, direction]) => [path, -direction as 1 | -1]));
  const items = await users.find(filter, { sort: reversed, index, skip: total - end, limit: end - offset });
  return items.reverse();
}

/** The characters that a store looks for: its patterns have a limit, and a folded text may be 18 times as long as what was written. */
const MAX_PATTERN_CHARS = 200;

/** The literal text as a pattern. Both sides are folded, and stores find a text faster when its case is given. */
const patternOf = (text: string) =>
  text.replaceAll(/[.*+?^${}()|[\]/\\]/g, (char) => (char === '\\' ? '\\x5c' : `\\${char}`));

/** The users with the text, the newest ones first. */
async function searched(blocks: UserListReads['searchBlocks'], search: string) {
  const user_ids: string[] = [];
  // Stores refuse NUL, so nobody has it.
  if (search.includes('\0')) return { user_ids, is_cut: false };
  const text = { $regex: patternOf([...search].slice(0, MAX_PATTERN_CHARS).join('')) };
  // The first blocks alone have all that a common text may find.
  for (let [before, limit] = ['~', 8]; ; limit = 64) {
    const found = await blocks.find({ text, _id: { $lt: before } }, { sort: { _id: -1 }, limit });
    for (const block of found) {
      const lines = block.text.split('\n');
      for (let n = lines.length - 1; n >= 0; n--) {
        if (!lines[n]!.includes(search)) continue;
        if (user_ids.length === MAX_FOUND) return { user_ids, is_cut: true };
        user_ids.push(block.user_ids[n]!);
      }
    }
    if (found.length < limit) return { user_ids, is_cut: false };
    before = found.at(-1)!._id;
  }
}

/** How many users the query shows, how many there are of its kind, and how many starred ones, shown or not. */
async function totalsOf(counts: UserListReads['userCounts'], query: UsersQuery, today: string) {
  const { filter_type, hide_deleted, hide_admin, only_starred } = query;
  const from = idOfDay(addDays(today, 1 - ACTIVE_DAYS));
  const [all, days] = await Promise.all([
    counts.get(ALL_USERS),
    counts.find({ _id: { $gte: from, $lt: 'day0' } }, { limit: 10_000 }),
  ]);
  const of_all = all ? [all] : [];
  const planned = days.filter(({ _id }) => _id >= idOfDay(today));
  /** The documents that have the counters of each kind. */
  const counters = { listed: of_all, flagged: of_all, active: days, paying: planned, plan: planned };
  const sum = (kind: keyof typeof counters, is_counted: (cell: string) => boolean) =>
    counters[kind]
      .flatMap(({ n }) => Object.entries(n))
      .filter(([name]) => name.startsWith(`${kind}_`) && is_counted(name.slice(kind.length + 1)))
      .reduce((total, [, by]) => total + by, 0);
  function totalOf(is_counted: (cell: string) => boolean): number {
    const of = (kind: keyof typeof counters) => sum(kind, is_counted);
    switch (filter_type) {
      case 'all':
        return of('listed');
      case 'flagged':
        return of('flagged');
      case 'paying':
        return of('paying');
      case 'trial':
        return of('plan') - of('paying');
      case 'free':
        return of('listed') - of('plan');
      case 'active':
        return of('active');
      case 'inactive':
        return of('listed') - of('active');
    }
  }
  const shown = ([erased, admin, starred]: string) =>
    !(hide_deleted && erased === 'y') && !(hide_admin && admin === 'y') && !(only_starred && starred === 'n');
  return {
    shown: totalOf(shown),
    of_kind: totalOf(() => true),
    starred: sum('listed', (cell) => cell[2] === 'y'),
  };
}

/** Whether a document fulfils one of the filters of this file, as the store would say. */
function matches(user: ListedUserDocument, filter: Filter): boolean {
  return Object.entries(filter).every(([path, condition]) => {
    const value = user[path as keyof ListedUserDocument] as string | boolean;
    if (typeof condition !== 'object' || condition === null) return value === condition;
    const { $gte, $lt } = condition as { $gte?: string; $lt?: string };
    return ($gte === undefined || value >= $gte) && ($lt === undefined || value < $lt);
  });
}

/** The store's order: null first, then false and true, numbers, or texts by their code points. */
const orderBy = (sort: Sort) => (a: ListedUserDocument, b: ListedUserDocument) => {
  for (const [path, direction] of Object.entries(sort)) {
    const [left, right] = [a, b].map(
      (user) => user[path as keyof ListedUserDocument] as string | number | boolean | null,
    );
    if (left === right) continue;
    if (left === null || right === null) return left === null ? -direction : direction;
    return isBefore(left!, right!) ? -direction : direction;
  }
  return 0;
};

const isBefore = <Value extends string | number | boolean>(left: Value, right: Value) =>
  typeof left === 'string' && typeof right === 'string'
    ? Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0
    : left < right;
