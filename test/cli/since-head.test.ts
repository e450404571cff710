// Whoever may write the log can append an entry that every rule allows. It is not under the last head that an outsider has kept.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openNoteSigner } from '../../audit/signed-note.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { opsHere } from '../support/run-ops.ts';

test('what was appended after a kept head is shown with who did it, and what is before it is proven', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'since-head-'));
  t.teardown(() => rm(DATA_DIR, { recursive: true, force: true }));
  const path = join(DATA_DIR, 'events.db');
  const log = await openSqliteEventStore({ path });
  await fillLedger(log);
  const { context, credits, buy } = openFiller(log);
  const heads = openLedgerHeads(log, 'ledger/one', openNoteSigner('ledger/one', Buffer.alloc(32)));
  const signing = openHeadSigning({
    stored_log: log,
    heads,
    interval_ms: 0,
    context,
    now: () => 0,
    every_entries: 1_000,
  });
  await signing.pass();
  const kept = await opsHere(['ledger', 'heads', '--last'], { DATA_DIR });
  const file = join(DATA_DIR, 'head.txt');
  await writeFile(file, kept.stdout);

  const verify = ['ledger', 'verify', '--since-head', file];
  const untouched = await opsHere(verify, { DATA_DIR });
  t.is(untouched.code, 0);
  t.regex(untouched.stdout, /since the head of \d+ entries: 0 entries, which it does not prove; 0 credits added/);

  const before = await log.head();
  const mint = { type: 'adjust', adjustment_id: 'minted', amount: 1_000_000, reason: 'a gift' } as const;
  await credits.run('alice', mint, { ...context(), actor: 'root' });
  await buy('alice', 'pi-minted', 77);
  // The service signs it as well: only what was kept before does not have it.
  await signing.pass();
  await log.close();
  const minted = await opsHere(verify, { DATA_DIR });
  t.is(minted.code, 0, 'every rule holds');
  t.regex(minted.stdout, /: 2 entries, which it does not prove; 1,000,077 credits added/);
  t.regex(minted.stdout, /since the head of 4 events of payments and subscriptions: 1 event, which it does not prove/);
  t.regex(
    minted.stdout,
    /PaymentReceived payment-pi-minted \(77 usd in its smallest unit, 77 credits, of alice\), by /,
  );
  t.regex(minted.stdout, / {2}adjustment 1000000 to alice, by root \(minted\)/);
  const { since_head } = JSON.parse((await opsHere([...verify, '--json'], { DATA_DIR })).stdout);
  t.like(since_head, { entries: 2, added: 1_000_077 });
  t.like(since_head.billing.shown, [{ type: 'PaymentReceived', data: { amount_cents: 77 } }]);
  t.like(since_head.shown[0], { actor: 'root', user_id: 'alice', amount: 1_000_000 });
  const as_of = await opsHere([...verify, '--as-of', before, '--json'], { DATA_DIR });
  t.like(JSON.parse(as_of.stdout).since_head, { entries: 0, added: 0, billing: { events: 0 } });
  // A head of another ledger proves nothing of this one.
  await writeFile(file, kept.stdout.replace(/^\d+$/m, '3'));
  t.is((await opsHere(verify, { DATA_DIR })).code, 1);
});
