// `npm run ops -- ledger prove-last` and `verify-last`: that an entry was the last one at a time, proved to whoever has a signed head.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openNoteSigner } from '../../audit/signed-note.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import { originOf } from '../../events/ledger-head.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { folder } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

const ORIGIN = originOf('2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11');
const signer = openNoteSigner(ORIGIN, Buffer.from('the key of tests'));
const DAYS = ['2026-01-10', '2026-01-20', '2026-02-10', '2026-03-10'];
const SIGNED_AT = Date.parse('2026-03-11T00:00:00Z');

/** An entry of alice and one of bob on each day, and a head that is signed a day after the last one. */
async function ledger(t: ExecutionContext) {
  const DATA_DIR = await folder(t);
  const log = await openFolderLog(DATA_DIR);
  for (const day of DAYS)
    for (const user_id of ['alice', 'bob'])
      await openFiller(log, Date.parse(`${day}T12:00:00Z`)).buy(user_id, `${user_id}-${day}`, 5);
  const heads = openLedgerHeads(log, ORIGIN, signer);
  const context = () => commandContext(SIGNED_AT);
  await openHeadSigning({ stored_log: log, heads, interval_ms: 0, context, now: () => SIGNED_AT }).pass();
  await log.close();
  const file = join(DATA_DIR, 'proof.json');
  const prove = (...words: string[]) => opsHere(['ledger', 'prove-last', '--out', file, ...words], { DATA_DIR });
  const verify = (...words: string[]) => opsHere(['ledger', 'verify-last', file, ...words], {});
  return { DATA_DIR, file, prove, verify };
}

test('the last entry of the ledger, and of a user, is proved by the one that follows it', async (t) => {
  const { prove, verify, DATA_DIR } = await ledger(t);
  for (const [words, transaction] of [
    [['--as-of', '2026-01-31'], 'purchase:bob-2026-01-20'],
    [['--as-of', '2026-01-31', '--user', 'alice'], 'purchase:alice-2026-01-20'],
    [['--as-of', '2026-01-20T12:00:00Z', '--user', 'bob'], 'purchase:bob-2026-01-20'],
    // Nothing follows it, and the head that was signed later ends with it.
    [['--as-of', '2026-03-10'], 'purchase:bob-2026-03-10'],
  ] as const) {
    const proved = await prove(...words);
    t.is(proved.code, 0, proved.stderr);
    const { code, stdout } = await verify('--key', signer.verifier);
    t.is(code, 0, stdout);
    t.true(stdout.startsWith('ok: at 2026-'), stdout);
    t.true(stdout.includes(` was ${transaction} of `), stdout);
    t.true(stdout.endsWith(' under the head of 8 entries\n'), stdout);
  }
  t.regex((await verify()).stdout, /the proof itself names the key/);
  const head = join(DATA_DIR, 'head.txt');
  await writeFile(head, (await opsHere(['ledger', 'heads', '--last'], { DATA_DIR })).stdout);
  t.is((await prove('--as-of', '2026-01-31', '--head', head)).code, 0);
  t.is((await verify('--head', head)).code, 0);
});

test('what cannot be proved is refused with its reason', async (t) => {
  const { prove } = await ledger(t);
  for (const [words, why] of [
    [['--as-of', '2026-01-09'], /the ledger has no entry up to 2026-01-09/],
    [['--as-of', '2026-04-01'], /no entry came later, and no head that was signed later/],
    [['--as-of', '2026-03-10', '--user', 'alice'], /no entry came later/],
    [['--user', 'alice'], /--as-of needs a time or a day/],
  ] as const) {
    const { code, stderr } = await prove(...words);
    t.is(code, 2);
    t.regex(stderr, why);
  }
});

test('a proof with any change proves nothing', async (t) => {
  const { prove, verify, file } = await ledger(t);
  const changes: [string, (proof: ReturnType<typeof JSON.parse>) => void, RegExp][] = [
    ['', (proof) => (proof.last.entry.data.amount = 6), /hash of the last entry is not computed from it/],
    ['', (proof) => (proof.as_of = '2026-02-28T00:00:00.000Z'), /the next entry is of 2026-02-10/],
    ['', (proof) => (proof.as_of = '2026-01-02T00:00:00.000Z'), /the last entry is of 2026-01-20/],
    ['', (proof) => (proof.last.leaf_index = 2), /the last entry is not under the head/],
    ['', (proof) => (proof.last = proof.next), /the last entry is of 2026-02-10/],
    ['', (proof) => (proof.next = null), /the head has entries after the last one/],
    ['', (proof) => (proof.user_id = 'alice'), /the last entry is not of alice/],
    ['', (proof) => (proof.head = proof.head.replace('\n8\n', '\n4\n')), /not signed by a trusted key/],
    ['alice', (proof) => (proof.user_id = null), /there may be entries between/],
  ];
  for (const [user, change, why] of changes) {
    await prove('--as-of', '2026-01-31', ...(user === '' ? [] : ['--user', user]));
    const proof = JSON.parse(await readFile(file, 'utf8'));
    change(proof);
    await writeFile(file, JSON.stringify(proof));
    const { code, stdout } = await verify('--key', signer.verifier);
    t.is(code, 1, String(why));
    t.regex(stdout, why);
  }
  const other = openNoteSigner(ORIGIN, Buffer.alloc(32)).verifier;
  await prove('--as-of', '2026-01-31');
  t.regex((await verify('--key', other)).stdout, /not signed by a trusted key/);
  for (const text of [
    '{}',
    'no JSON',
    '{"kind":"url-checker-last-entry","version":1,"as_of":"","head":"","verifier":"","last":{}}',
  ]) {
    await writeFile(file, text);
    t.like(await verify(), { code: 2 });
  }
});
