// Pages of the administrators' list of users: filtered, sorted and searched, with the total.

import type { Collection, Filter, FindOptions, IndexSpec, Sort } from '../documents.ts';
import { addDays, dayOf } from '../growth/calendar.ts';
import { type DayCountsDocument, idOfDay } from '../growth/day-counts.ts';
import type { Page, Paging } from '../pages.ts';
import {
  ALL_USERS,
  BY_KIND,
  BY_SORT,
  foldText,
  type ListedUserDocument,
  type SearchBlockDocument,
  searchLine,
} from './user-list.ts';

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
