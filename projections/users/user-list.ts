// The read models of the administrators' list of users.

import { owedBy } from '../../events/credits.ts';
import { idOf } from '../../events/streams.ts';
import type { SubscriptionEvent } from '../../events/subscription.ts';
import { afterSubscriptionEvent, noSubscription, planEnds } from '../../events/subscription-state.ts';
import { isTestUser } from '../../events/test-user.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import { dayOf, laterOf } from '../../readmodels/growth/calendar.ts';
import {
  ALL_USERS,
  blockOf,
  countersOf,
  type ListedUserDocument,
  PLACES,
  type SearchBlockDocument,
  searchBlocks,
  searchLine,
  USERS_A_BLOCK,
  userCounts,
  userList,
} from '../../readmodels/users/user-list.ts';
import { CountChanges } from '../growth/day-counts.ts';
import { handlersOf, type OpenCollection, type Projection, projection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';

interface Page {
  before: ReadonlyMap<string, ListedUserDocument>;
  users: Map<string, ListedUserDocument>;
  /** The place of the next user who registers. */
  next_place: number;
}

export const userListProjection: Projection = projection({
  name: 'user_list',
  version: 2,
  collections: [userList, searchBlocks, userCounts],
  covers: ['user', 'credits', 'subscription'],
  ignores: [
    'FingerprintRecorded',
    'SignupBonusApproved',
    'SpendingLimitSet',
    'CreditMailsSet',
    'UsageSet',
    'SessionsEnded',
  ],
  async begin(open, events): Promise<Page> {
    const before = await readAll(await open(userList), events.map(userOf));
    const places = events.some(({ type }) => type === 'UserRegistered')
      ? await (await open(userCounts)).get(ALL_USERS)
      : null;
    return { before, users: new Map(), next_place: places?.n[PLACES] ?? 0 };
  },
  on: {
    UserRegistered({ stream, data: { email }, metadata: { at } }, page) {
      const user = userIn(page, idOf(stream));
      if (user.is_listed) return;
      page.users.set(user._id, { ...user, is_listed: true, email, registered_at: at, place: page.next_place++ });
    },
    UserUpdated: change(({ data: { email } }) => ({ email })),
    IdentityReported: change(({ data: { email } }) => ({ email })),
    UserNamed: change(({ data: { name } }) => ({ name })),
    UserRoleSeen: change(({ data: { is_admin } }) => ({ is_admin })),
    SignupBonusWithheld: change(() => ({ is_bonus_withheld: true })),
    UsageLimitSet: change(({ data: { limit } }) => ({ custom_limit: limit })),
    NotesUpdated: change(({ data: { notes } }) => ({ has_notes: notes !== null })),
    UserStarred: change(() => ({ is_starred: true })),
    UserUnstarred: change(() => ({ is_starred: false })),
    UserErased: change(({ metadata: { at } }) => ({ ...NOTHING, erased_at: at, is_erased: true })),
    // A request that had begun before the erasure may have recorded something after it.
    UserForgotten: change(() => NOTHING),
    JobCreated(event, page) {
      if (!isTestUser(event.data.owner_id)) countJob(event, page);
    },
    ...handlersOf(
      'credits',
      change((event, { owed }) => ({ balance: event.data.balance_after, owed: owed + owedBy(event) })),
    ),
    ...handlersOf(
      'subscription',
      change((event, user) => planOf(event, user)),
    ),
  },
  async end({ before, users }, open) {
    const counts = new CountChanges();
    for (const user of users.values()) {
      const old = before.get(user._id) ?? newUser(user._id);
      if (user.is_listed && !old.is_listed) counts.add(ALL_USERS, PLACES);
      for (const [id, name] of countersOf(old)) counts.add(id, name, -1);
      for (const [id, name] of countersOf(user)) counts.add(id, name);
    }
    await replaceAll(await open(userList), users.values());
    await counts.writeTo(await open(userCounts));
    await writeLines(
      open,
      [...users.values()].filter((user) => hasNewLine(before.get(user._id), user)),
    );
  },
});

const NOTHING = { email: null, name: null, has_notes: false };

const userOf = ({ type, data, stream }: LogEvent): string => (type === 'JobCreated' ? data.owner_id : idOf(stream));

const newUser = (_id: string): ListedUserDocument => ({
  ...{ _id, is_listed: false, email: null, name: null, registered_at: '', is_admin: false, is_starred: false },
  ...{ has_notes: false, erased_at: null, is_erased: false, custom_limit: null, is_bonus_withheld: false },
  ...{ balance: 0, owed: 0, is_flagged: false, jobs_created: 0, last_job_at: null, last_job_day: '' },
  ...{ subscription: noSubscription(), paid_until: '', trial_until: '', place: -1 },
});

const userIn = ({ users, before }: Page, user_id: string): ListedUserDocument =>
  users.get(user_id) ?? before.get(user_id) ?? newUser(user_id);

/** Makes a handler that changes fields of the event's user. */
function change<Event extends LogEvent>(
  changes: (event: Event, user: ListedUserDocument) => Partial<ListedUserDocument>,
) {
  return (event: Event, page: Page): void => {
    const user = userIn(page, userOf(event));
    const changed = { ...user, ...changes(event, user) };
    changed.is_flagged = changed.is_bonus_withheld || changed.owed > 0;
    page.users.set(user._id, changed);
  };
}

const countJob = change(({ metadata: { at } }, { jobs_created, last_job_at }) => {
  const last = laterOf(at, last_job_at ?? at);
  return { jobs_created: jobs_created + 1, last_job_at: last, last_job_day: dayOf(last) };
});

/** The last day on which a plan that ends at this time still stands. */
const lastDayOf = (ends_at: string | null) => (ends_at === null ? '' : dayOf(Date.parse(ends_at) - 1));

function planOf(event: SubscriptionEvent, { subscription }: ListedUserDocument): Partial<ListedUserDocument> {
  const after = afterSubscriptionEvent(subscription, event);
  // The provider's ids of the user are of no use here, and would have to be erased.
  const subscriptions = after.subscriptions.map((each) => ({ ...each, customer_id: null }));
  const { paid_until, trial_until } = planEnds(after);
  return {
    subscription: { ...after, subscriptions },
    ...{ paid_until: lastDayOf(paid_until), trial_until: lastDayOf(trial_until) },
  };
}

const hasNewLine = (before: ListedUserDocument | undefined, user: ListedUserDocument) =>
  user.place >= 0 && (before?.place !== user.place || searchLine(before) !== searchLine(user));

async function writeLines(open: OpenCollection, users: readonly ListedUserDocument[]): Promise<void> {
  const by_block = Map.groupBy(users, ({ place }) => blockOf(place));
  const blocks = await open(searchBlocks);
  const found = await readAll(blocks, by_block.keys());
  const changed = [...by_block].map(([_id, of_block]): SearchBlockDocument => {
    const { user_ids, text } = found.get(_id) ?? { user_ids: [], text: '' };
    const [ids, lines] = [[...user_ids], user_ids.length === 0 ? [] : text.split('\n')];
    for (const user of of_block) {
      const n = user.place % USERS_A_BLOCK;
      ids[n] = user._id;
      lines[n] = searchLine(user);
    }
    return { _id, user_ids: ids, text: lines.join('\n') };
  });
  await replaceAll(blocks, changed);
}
