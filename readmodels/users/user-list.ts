// The read models of the administrators' list of users: one document for each, which has all that the list is filtered and sorted by;
// the texts that a search reads; and counters, so that a total counts no documents. `user-pages.ts` reads them.
import type { SubscriptionState } from '../../events/subscription-state.ts';
import { type Document, type IndexSpec, kept, type ReadModelSpec } from '../documents.ts';
import { laterOf } from '../growth/calendar.ts';
import { dayCounts, idOfDay } from '../growth/day-counts.ts';

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
export const BY_SORT = {
  pinned_desc: { fields: { is_listed: 1, is_starred: -1, registered_at: -1, _id: -1, ...TESTED } },
  pinned_asc: { fields: { is_listed: 1, is_starred: -1, registered_at: 1, _id: 1, ...TESTED } },
  registered_at: sortedBy('registered_at'),
  last_job_at: sortedBy('last_job_at'),
  email: sortedBy('email'),
  jobs_created: sortedBy('jobs_created'),
  balance: sortedBy('balance'),
} satisfies Record<string, IndexSpec>;
/** The index of each kind of users that may be rare, by the field that tells them. */
export const BY_KIND: Readonly<Record<string, IndexSpec>> = {
  is_flagged: { fields: { is_listed: 1, is_flagged: -1 } },
  paid_until: { fields: { is_listed: 1, paid_until: -1 } },
  trial_until: { fields: { is_listed: 1, trial_until: -1 } },
  last_job_day: { fields: { is_listed: 1, last_job_day: -1 } },
};

export const userList: ReadModelSpec<ListedUserDocument> = {
  name: 'user_list',
  ...kept('1.3 kB a user', "never; a user's personal fields with the erasure", 'derived'),
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
export const searchBlocks: ReadModelSpec<SearchBlockDocument> = {
  name: 'user_search',
  ...kept('170 a user', "never; a user's text with the erasure", 'derived'),
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

export const userCounts = dayCounts('user_counts', kept('under 1 kB a day', 'never', 'none'));
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
