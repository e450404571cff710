// The rules of ledger entries: each account's revisions, hashes, balances and lots, and the tree of all entries, to which the signed heads
// are held.
import { CREDITS_EVENTS, type CreditsEvent, entryHash, TRANSACTIONS, type TransactionType } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { idOf } from '../events/streams.ts';
import { type Account, Breach, type Lots, move, newAccount, openLots, type Taken } from './account.ts';
import { type Place, placeOf, type ReportFinding } from './findings.ts';
import { type GrowingTree, leafOf } from './merkle.ts';
import type { EntryOf } from './pairing.ts';
import type { Spill, SpillMap } from './spill.ts';
import type { AuditReport, KnownHead, LedgerAudit } from './types.ts';

interface EntryRulesOptions {
  spill: Spill;
  in_memory: number;
  /** Of the entries that an earlier audit took. */
  tree: GrowingTree;
  heads: readonly KnownHead[];
  /** It counts entries here. */
  report: AuditReport;
  say: ReportFinding;
  /** Shows an entry to the works over two streams. Returns the reservations that the entry gives back. */
  pair(entry: CreditsEvent, of: EntryOf): readonly Taken[];
}

export class EntryRules {
  readonly tree: GrowingTree;
  first: { place: Place; at: number } | null = null;
  readonly #accounts: SpillMap<Account>;
  readonly #lots: Lots;
  readonly #heads: readonly KnownHead[];
  #next_head = 0;
  readonly #report: AuditReport;
  readonly #say: ReportFinding;
  readonly #pair: EntryRulesOptions['pair'];

  constructor({ spill, in_memory, tree, heads, report, say, pair }: EntryRulesOptions) {
    this.tree = tree;
    this.#accounts = spill.map('accounts', in_memory);
    this.#lots = openLots(spill, in_memory);
    const to_come = heads.filter(({ tree_size }) => tree_size > tree.size);
    this.#heads = to_come.sort((a, b) => a.tree_size - b.tree_size);
    this.#report = report;
    this.#say = say;
    this.#pair = pair;
  }

  /** `at`: when it was appended, in milliseconds since the epoch; `previous`: the hash before it, where its own is known to be computed of it. */
  enter(event: RecordedEvent, at: number, previous: string | null): void {
    const user_id = idOf(event.stream);
    const place = placeOf(event);
    const account = this.#accountOf(user_id);
    const entry = event as unknown as CreditsEvent;
    const { amount, balance_after, hash } = entry.data;
    this.#report.entries += 1;
    this.first ??= { place, at };
    this.#follow(account, event, place, previous);
    if (account.balance + amount !== balance_after || balance_after < 0) {
      this.#say('balance', place, `${account.balance} and ${amount} make ${balance_after}`);
    }
    this.#countType(event, place);
    this.#report.balance += balance_after - account.balance;
    account.balance = balance_after;
    const taken = this.#pair(entry, { user_id, at, place });
    if (!account.is_broken) this.#moveLots(user_id, account, { entry, at, taken, place });
    this.#grow(hash);
  }

  #accountOf(user_id: string): Account {
    let account = this.#accounts.get(user_id);
    if (!account) {
      this.#accounts.set(user_id, (account = newAccount()));
      this.#report.accounts += 1;
    }
    return account;
  }

  /** The entry comes after the one before it, by its revision and by its hash. */
  #follow(account: Account, event: RecordedEvent, place: Place, previous: string | null): void {
    if (event.revision !== account.entries) {
      this.#say('revisions', place, `revision ${event.revision} comes after ${account.entries} entries`);
    }
    account.entries = event.revision + 1;
    const { hash } = event.data as CreditsEvent['data'];
    if (previous === null) {
      const computed = entryHash(account.hash, event);
      if (computed !== hash) this.#say('chain', place, `the entry's hash is ${hash}, computed ${computed}`);
    } else if (previous !== account.hash)
      throw new Error(`the thread lost the chain of ${event.stream} ${event.revision}`);
    // From here on by what the log says, so that one changed entry is one violation.
    account.hash = hash;
  }

  #countType(event: RecordedEvent, place: Place): void {
    const { transaction_type, amount } = event.data as CreditsEvent['data'];
    const is_known = Object.hasOwn(TRANSACTIONS, transaction_type);
    const is_typed = is_known && TRANSACTIONS[transaction_type].recorded_as === event.type;
    if (!is_typed && Object.hasOwn(CREDITS_EVENTS, event.type)) {
      this.#say('unreadable', place, `${event.type} records no ${transaction_type}`);
    }
    if (!is_known) return;
    const tally = (this.#report.tallies[transaction_type as TransactionType] ??= { entries: 0, added: 0, taken: 0 });
    tally.entries += 1;
    if (amount > 0) tally.added += amount;
    else tally.taken -= amount;
  }

  #moveLots(
    user_id: string,
    account: Account,
    { entry, at, taken, place }: { entry: CreditsEvent; at: number; taken: readonly Taken[]; place: Place },
  ): void {
    const { owed } = account;
    try {
      move({ user_id, account, lots: this.#lots }, entry, at, taken);
    } catch (error) {
      if (!(error instanceof Breach)) throw error;
      account.is_broken = true;
      this.#say('lots', place, error.message);
    }
    this.#report.owed += account.owed - owed;
  }

  /** Goes on after an entry of a later version as far as every version agrees: it has its balance, and the hash of all that it says. */
  enterLater(event: RecordedEvent): void {
    this.skip(event);
    const account = this.#accounts.get(idOf(event.stream))!;
    const { hash, balance_after } = event.data as CreditsEvent['data'];
    this.#report.entries += 1;
    if (entryHash(account.hash, event) !== hash)
      this.#say('chain', placeOf(event), `the entry is of the type ${event.type}, and its hash is not computed of it`);
    if (typeof hash !== 'string' || !Number.isSafeInteger(balance_after)) return;
    this.#report.balance += balance_after - account.balance;
    Object.assign(account, { hash, balance: balance_after });
    this.#grow(hash);
  }

  /** Goes on after an entry that cannot be read, so that the next ones are not blamed for its revision. */
  skip({ stream, revision }: RecordedEvent): void {
    const account = this.#accounts.get(idOf(stream)) ?? newAccount();
    account.entries = revision + 1;
    account.is_broken = true;
    this.#accounts.set(idOf(stream), account);
  }

  #grow(hash: string): void {
    this.tree.add(leafOf(hash));
    while (this.#heads[this.#next_head]?.tree_size === this.tree.size) this.#compare(this.#heads[this.#next_head++]!);
  }

  #compare({ tree_size, root_hash, place }: KnownHead): void {
    this.#report.heads_checked += 1;
    const root = this.tree.root().toString('hex');
    if (root !== root_hash) {
      this.#say('head', place, `the root of the first ${tree_size} entries is ${root}, the head says ${root_hash}`);
    }
  }

  /** At the end of the log: no head is of more entries than there are. */
  finish(): void {
    for (const { tree_size, place } of this.#heads.slice(this.#next_head)) {
      this.#say('head', place, `the head is of ${tree_size} entries, but there are ${this.tree.size}`);
    }
  }

  *balances(): ReturnType<LedgerAudit['balances']> {
    for (const [user_id, { balance, owed, entries }] of this.#accounts.entries())
      yield { user_id, balance, owed, entries };
  }
}
