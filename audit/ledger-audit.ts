// Replays every account, job and payment from the log alone, and reports each entry that breaks a rule. Its memory does not grow with
// the length of the log: what was not used lately is in a temporary file.
import { CREDITS_EVENTS, type CreditsEvent, entryHash, TRANSACTIONS, type TransactionType } from '../events/credits.ts';
import { BEGINNING, type RecordedEvent } from '../events/event-store.ts';
import { categoryOf, checksOf, idOf, isBilled } from '../events/streams.ts';
import { AUDITED_WORK, type AuditedWork, type HalfDoneCounts, WORK } from '../events/two-streams.ts';
import { type Account, Breach, move, newAccount, openLots } from './account.ts';
import { openBillingTree } from './billing-tree.ts';
import { type Digests, KIND } from './digests.ts';
import { type Place, placeOf, type Rule } from './findings.ts';
import { openJobRules } from './job-rules.ts';
import { isOfLater } from './known-types.ts';
import { GrowingTree, leafOf } from './merkle.ts';
import { type Pairing, pairEntry } from './pairing.ts';
import { openPaymentRules } from './payment-rules.ts';
import { openSpill, type SpillMap } from './spill.ts';
import type { AuditOptions, AuditReport, AuditState, KnownHead, LedgerAudit } from './types.ts';

/** The streams that prove the ledger. */
export const AUDITED = ['credits', 'job', 'checks', 'payment', 'subscription'] as const;

const GRACE_MS = 2 * 3_600_000;
const IN_MEMORY = 40_000;
const NONE_OPEN = Object.fromEntries(AUDITED_WORK.map((work) => [WORK[work].audited.as, 0])) as HalfDoneCounts;

export function openLedgerAudit(options: AuditOptions): LedgerAudit {
  const { found, heads = [], grace_ms = GRACE_MS, in_memory = IN_MEMORY } = options;
  const { spill = openSpill(), state = null } = options.from ?? {};
  const accounts: SpillMap<Account> = spill.map('accounts', in_memory);
  const lots = openLots(spill, in_memory);
  const jobs = openJobRules(spill, in_memory, say, state?.report);
  const payments = openPaymentRules(spill, in_memory, say);
  const pairings: Readonly<Record<AuditedWork, Pairing>> = { ...jobs.pairings, ...payments.pairings };
  const tree = state === null ? new GrowingTree() : GrowingTree.from(state.tree.size, state.tree.frontier);
  const known = heads.filter(({ tree_size }) => tree_size > tree.size).sort((a, b) => a.tree_size - b.tree_size);
  const billing = openBillingTree(state?.billing ?? { size: 0, frontier: [] }, heads, say);
  let first: { place: Place; at: number } | null = null;
  let next_head = 0;
  let last_at = state?.last_at ?? Number.NEGATIVE_INFINITY;
  const report: AuditReport = state?.report ?? {
    position: BEGINNING,
    at: null,
    events: 0,
    entries: 0,
    accounts: 0,
    balance: 0,
    owed: 0,
    tallies: {},
    root_hash: '',
    heads_checked: 0,
    billing_events: 0,
    billing_root_hash: '',
    jobs: 0,
    jobs_purged: 0,
    open: NONE_OPEN,
    violations: 0,
    later: 0,
  };

  function say(rule: Rule, place: Place, message: string): void {
    report.violations += 1;
    const { position, stream, revision } = place;
    found({ rule, position, stream, revision, message });
  }

  function take(event: RecordedEvent): void {
    report.events += 1;
    report.position = event.position;
    try {
      const category = categoryOf(event.stream);
      if (isBilled(category)) billing.take(event);
      // Most events, whose time nobody asks for.
      if (category === 'checks') {
        if (isOfLater(event)) later(event);
        else jobs.check(event);
        return;
      }
      judge(event, Date.parse(event.metadata.at), null);
    } catch (error) {
      blame(event, error);
    }
  }

  function takeDigests({ kinds, numbers, whole, position, ...lists }: Digests): void {
    const names = JSON.parse(lists.names) as string[];
    const facts = JSON.parse(lists.data) as unknown[];
    let [fact, name, other] = [0, 0, 0];
    for (let n = 0; n < kinds.length; n += 1) {
      if (kinds[n] === KIND.whole) {
        take(eventOf(whole[other++]!));
        continue;
      }
      const [time, number] = [numbers[2 * n]!, numbers[2 * n + 1]!];
      report.events += 1;
      if (kinds[n] === KIND.results) jobs.count(names[name++]!, number, time);
      else {
        const [position, stream, type] = [names[name++]!, names[name++]!, names[name++]!];
        const event = { position, stream, type, revision: number, data: facts[fact++] } as RecordedEvent;
        try {
          judge(event, time, kinds[n] === KIND.entry ? names[name++]! : null);
        } catch (error) {
          blame(event, error);
        }
      }
    }
    report.position = position;
  }

  /** Goes on after an event of a later version as far as every version agrees: an entry has its balance, and the hash of all that it says. */
  function later(event: RecordedEvent): void {
    report.later += 1;
    const { stream } = event;
    const category = categoryOf(stream);
    if (category === 'job') jobs.deletedLater(idOf(stream));
    else if (category === 'checks') jobs.deletedLater(checksOf(stream).job_id);
    if (category !== 'credits') return;
    skip(event);
    const account = accounts.get(idOf(stream))!;
    const { hash, balance_after } = event.data as CreditsEvent['data'];
    report.entries += 1;
    if (entryHash(account.hash, event) !== hash)
      say('chain', placeOf(event), `the entry is of the type ${event.type}, and its hash is not computed of it`);
    if (typeof hash !== 'string' || !Number.isSafeInteger(balance_after)) return;
    report.balance += balance_after - account.balance;
    Object.assign(account, { hash, balance: balance_after });
    grow(hash);
  }

  function grow(hash: string): void {
    tree.add(leafOf(hash));
    while (known[next_head]?.tree_size === tree.size) compareHead(known[next_head++]!);
  }

  /** `previous`: the hash before an entry, where its own is known to be computed of it. */
  function judge(event: RecordedEvent, time: number, previous: string | null): void {
    const category = categoryOf(event.stream);
    // Events that a thread has read ahead come without metadata, and those of later versions as they are.
    if (isOfLater(event)) {
      later(event);
      return;
    }
    // Without a time, a step would never be late.
    if (Number.isNaN(time)) {
      const message = `${event.type} has the time ${event.metadata.at}, which is none`;
      say('unreadable', placeOf(event), message);
    } else if (time > last_at) last_at = time;
    if (category === 'credits') enter(event, time, previous);
    else if (category === 'job') jobs.step(event, time);
    else if (category === 'payment') payments.pay(event, time);
  }

  function blame(event: RecordedEvent, error: unknown): void {
    // A defect of this program must not pass for a defect of the log.
    if (!(error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError)) throw error;
    say('unreadable', placeOf(event), `${event.type} cannot be read: ${error.message}`);
    if (categoryOf(event.stream) === 'credits') skip(event);
  }

  /** Goes on after an entry that cannot be read, so that the next ones are not blamed for its revision. */
  function skip({ stream, revision }: RecordedEvent): void {
    const account = accounts.get(idOf(stream)) ?? newAccount();
    account.entries = revision + 1;
    account.is_broken = true;
    accounts.set(idOf(stream), account);
  }

  function enter(event: RecordedEvent, at: number, previous: string | null): void {
    const user_id = idOf(event.stream);
    let account = accounts.get(user_id);
    if (!account) {
      accounts.set(user_id, (account = newAccount()));
      report.accounts += 1;
    }
    const entry = event as unknown as CreditsEvent;
    const { data } = entry;
    report.entries += 1;
    first ??= { place: placeOf(event), at };
    if (event.revision !== account.entries) {
      say('revisions', placeOf(event), `revision ${event.revision} comes after ${account.entries} entries`);
    }
    account.entries = event.revision + 1;
    const { transaction_type } = data;
    const is_known = Object.hasOwn(TRANSACTIONS, transaction_type);
    const is_typed = is_known && TRANSACTIONS[transaction_type].recorded_as === event.type;
    if (!is_typed && Object.hasOwn(CREDITS_EVENTS, event.type)) {
      say('unreadable', placeOf(event), `${event.type} records no ${transaction_type}`);
    }
    if (previous === null) {
      const hash = entryHash(account.hash, event);
      if (hash !== data.hash) say('chain', placeOf(event), `the entry's hash is ${data.hash}, computed ${hash}`);
    } else if (previous !== account.hash)
      throw new Error(`the thread lost the chain of ${event.stream} ${event.revision}`);
    // From here on by what the log says, so that one changed entry is one violation.
    account.hash = data.hash;
    if (account.balance + data.amount !== data.balance_after || data.balance_after < 0) {
      say('balance', placeOf(event), `${account.balance} and ${data.amount} make ${data.balance_after}`);
    }
    if (is_known) count(transaction_type, data.amount);
    report.balance += data.balance_after - account.balance;
    account.balance = data.balance_after;
    const owed = account.owed;
    const of = { user_id, at, place: placeOf(event) };
    const taken = AUDITED_WORK.flatMap((work) => pairEntry(pairings[work], entry, of));
    if (!account.is_broken) {
      try {
        move({ user_id, account, lots }, entry, at, taken);
      } catch (error) {
        if (!(error instanceof Breach)) throw error;
        account.is_broken = true;
        say('lots', placeOf(event), error.message);
      }
    }
    report.owed += account.owed - owed;
    grow(data.hash);
  }

  function count(type: TransactionType, amount: number): void {
    const tally = (report.tallies[type] ??= { entries: 0, added: 0, taken: 0 });
    tally.entries += 1;
    if (amount > 0) tally.added += amount;
    else tally.taken -= amount;
  }

  function compareHead({ tree_size, root_hash, place }: KnownHead): void {
    report.heads_checked += 1;
    const root = tree.root().toString('hex');
    if (root !== root_hash) {
      say('head', place, `the root of the first ${tree_size} entries is ${root}, the head says ${root_hash}`);
    }
  }

  const lastTime = () => (Number.isFinite(last_at) ? new Date(last_at).toISOString() : null);
  const isLate = (at: number) => last_at - at > grace_ms;

  function finish(is_partial = false): AuditReport {
    const before = report.violations;
    for (const { tree_size, place } of is_partial ? [] : known.slice(next_head)) {
      say('head', place, `the head is of ${tree_size} entries, but there are ${tree.size}`);
    }
    if (!is_partial) billing.finish();
    const open = { ...NONE_OPEN };
    for (const work of AUDITED_WORK) open[WORK[work].audited.as] = pairings[work].finish(isLate);
    const { violations } = report;
    report.violations = before;
    return {
      ...{ ...report, at: lastTime(), ...jobs.counts(), violations, open },
      root_hash: tree.root().toString('hex'),
      billing_events: billing.tree.size,
      billing_root_hash: billing.tree.root().toString('hex'),
    };
  }

  function stateNow(): AuditState {
    return {
      report: { ...report, at: lastTime(), ...jobs.known() },
      last_at: Number.isFinite(last_at) ? last_at : null,
      tree: { size: tree.size, frontier: tree.frontier() },
      billing: { size: billing.tree.size, frontier: billing.tree.frontier() },
    };
  }

  return {
    take,
    takeDigests,
    deletedLater: jobs.deletedLater,
    finish,
    isLate,
    position: () => report.position,
    firstEntry: () => first,
    entries: () => report.entries,
    violations: () => report.violations,
    later: () => report.later,
    state: stateNow,
    *balances() {
      for (const [user_id, { balance, owed, entries }] of accounts.entries()) yield { user_id, balance, owed, entries };
    },
    close: () => spill.close(),
  };
}

/** Its parts are parsed where they are used, and what cannot be parsed throws there. */
const eventOf = ({ position, row: [, revision, type, id, metadata, data, stream] }: Digests['whole'][number]) =>
  ({
    ...{ position, stream, revision, type, id },
    get metadata() {
      return JSON.parse(metadata);
    },
    get data() {
      return JSON.parse(data);
    },
  }) as RecordedEvent;
