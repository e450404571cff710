// Signed heads and proofs, held to Go's implementation of transparency logs: whoever kept one head finds every change before it.

import { hash, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { problemOfHead } from '../../audit/heads.ts';
import { consistencyPath, GrowingTree, inclusionPath, joined, leafOf, subtreesOf } from '../../audit/merkle.ts';
import { proveConsistency, proveInclusion } from '../../audit/proofs.ts';
import { openNoteSigner, parseCheckpoint, textOfNote } from '../../audit/signed-note.ts';
import { type SignedHead, sourceOfLog } from '../../audit/source.ts';
import { metadataOf } from '../../commands/aggregate.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import type { CreditsEvent } from '../../events/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { originOf } from '../../events/ledger-head.ts';
import { BILLED } from '../../events/streams.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { leafEntry } from '../../readmodels/ledger-tree.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { askVerifier, type Question } from '../support/ledger-verifier.ts';
import { testWith } from '../support/programs.ts';
import { commandContext, openTestStores } from '../support/stores.ts';
import { isConsistent, isIncluded } from '../support/verify-proof.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-01-31T09:00:00Z');
const ORIGIN = originOf('2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11');
const signer = openNoteSigner(ORIGIN, Buffer.from('the key of tests'));

const entryHash = (n: number) => hash('sha256', `entry ${n}`);
const MOST = 40;
const LEAVES = Array.from({ length: MOST }, (_, n) => leafOf(entryHash(n)));

function rootOf(from: number, to: number): Buffer {
  const tree = new GrowingTree();
  for (const leaf of LEAVES.slice(from, to)) tree.add(leaf);
  return tree.root();
}
/** From the roots of complete subtrees, as the read model makes it. */
const overSubtrees = (range: { from: number; to: number }) =>
  joined(subtreesOf(range).map(({ height, nth }) => rootOf(nth * 2 ** height, (nth + 1) * 2 ** height)));
const hex = (hashes: readonly Buffer[]) => hashes.map((each) => each.toString('hex'));

test('every proof of every small tree holds, and holds for nothing else', (t) => {
  for (let size = 1; size <= MOST; size += 1) {
    const root = rootOf(0, size);
    for (let index = 0; index < size; index += 1) {
      const proof = inclusionPath(index, size).map(overSubtrees);
      t.true(isIncluded(LEAVES[index]!, index, size, proof, root));
      t.false(isIncluded(LEAVES[(index + 1) % MOST]!, index, size, proof, root));
      t.false(isIncluded(LEAVES[index]!, index, size, [...proof, root], root));
    }
    for (let first = 0; first <= size; first += 1) {
      const proof = consistencyPath(first, size).map(overSubtrees);
      const old = { size: first, root: rootOf(0, first) };
      t.true(isConsistent(old, { size, root }, proof));
      if (first > 0) t.false(isConsistent({ ...old, root: LEAVES[MOST - 1]! }, { size, root }, proof));
    }
    const tree = new GrowingTree();
    for (const leaf of LEAVES.slice(0, size)) tree.add(leaf);
    t.deepEqual(GrowingTree.from(size, tree.frontier()).root(), root);
  }
  t.throws(() => GrowingTree.from(3, [entryHash(1)]), { instanceOf: RangeError });
});

testWith('go')('Go verifies every proof of every small tree, and refuses others', async (t) => {
  const questions: Question[] = [];
  for (const size of [1, 2, 3, 4, 5, 7, 8, 13, 31, 32, 33, MOST]) {
    const root = rootOf(0, size).toString('hex');
    for (let index = 0; index < size; index += 1) {
      const proof = hex(inclusionPath(index, size).map(overSubtrees));
      questions.push({ kind: 'inclusion', leaf: entryHash(index), index, size, root, proof });
    }
    for (let first = 1; first <= size; first += 1) {
      const proof = hex(consistencyPath(first, size).map(overSubtrees));
      const first_root = rootOf(0, first).toString('hex');
      questions.push({ kind: 'consistency', first, second: size, first_root, second_root: root, proof });
    }
  }
  const answers = await askVerifier(questions);
  t.deepEqual([...new Set(answers)], ['ok']);
  t.is(answers.length, questions.length);
  const refused = await askVerifier(
    questions.map((question) =>
      question.kind === 'inclusion' ? { ...question, leaf: entryHash(99) } : { ...question, first_root: entryHash(99) },
    ),
  );
  t.false(refused.includes('ok'));
});

/** A log with entries, and the process that signs its heads. */
async function signed(t: ExecutionContext, every_entries?: number) {
  const { log } = await openTestStores(t);
  const clock = { now: START };
  const heads = openLedgerHeads(log, ORIGIN, signer);
  const options = { stored_log: log, heads, interval_ms: HOUR_MS, now: () => clock.now, every_entries };
  const open = () => openHeadSigning({ ...options, context: () => commandContext(clock.now) });
  const listed = (): Promise<SignedHead[]> => Array.fromAsync(sourceOfLog(log).heads(null));
  return { log, clock, heads, open, listed };
}

async function buy(log: EventStore, times: number, from = 0): Promise<void> {
  const filler = openFiller(log, START);
  for (let n = 0; n < times; n += 1) await filler.buy(`user-${n % 3}`, `pi-${from + n}`, 10);
}

test('the first entry gets a head at once, later ones after the interval, and none without new entries', async (t) => {
  const { log, clock, open, listed } = await signed(t);
  const signing = open();
  const sizes = async () => (await listed()).map(({ tree_size }) => tree_size);
  await signing.pass();
  t.deepEqual(await sizes(), []);
  await buy(log, 3);
  await signing.pass();
  t.deepEqual(await sizes(), [3]);
  await buy(log, 2, 3);
  await signing.pass();
  await open().pass();
  t.deepEqual(await sizes(), [3], 'the interval is not over');
  clock.now += HOUR_MS;
  await Promise.all([signing.pass(), open().pass()]);
  t.deepEqual(await sizes(), [3, 5], 'two processes sign it once');
  clock.now += 5 * HOUR_MS;
  await signing.pass();
  t.deepEqual(await sizes(), [3, 5], 'nothing is new');
  clock.now -= 50 * HOUR_MS;
  await buy(log, 1, 5);
  await signing.pass();
  t.deepEqual(await sizes(), [3, 5, 6], 'the clock was set back');
  for (const head of await listed()) {
    t.is(problemOfHead(head, [signer.verifier]), null);
    t.is((await proveConsistency(sourceOfLog(log), head.tree_size, 6)).first_root_hash, head.root_hash);
  }
});

test('so many entries are signed at once, wherever the interval is, by any process', async (t) => {
  const { log, open, listed } = await signed(t, 4);
  await buy(log, 1);
  const signing = open();
  await signing.pass();
  await buy(log, 9, 1);
  await signing.pass();
  await buy(log, 1, 10);
  await open().pass();
  await buy(log, 1, 11);
  await open().pass();
  t.deepEqual(
    (await listed()).map(({ tree_size }) => tree_size),
    [1, 4, 8, 12],
  );
});

test('a log with other positions continues with its heads, and one with other entries gets none', async (t) => {
  const { log, open } = await signed(t);
  await buy(log, 3);
  await open().pass();
  for (const is_changed of [false, true]) {
    const other = await signed(t);
    // Moves every position of the restored log.
    await other.log.append('service-log', 'no_stream', [
      {
        id: randomUUID(),
        type: 'LogIdentified',
        data: { log_id: randomUUID() },
        metadata: metadataOf(commandContext()),
      },
    ]);
    const events = await Array.fromAsync(
      log.readAll({ filter: { categories: ['credits', 'ledger_heads', ...BILLED] } }),
    );
    for (const { stream, revision, id, type, data, metadata } of events) {
      const changed = is_changed && revision === 0 && stream === 'credits-user-0';
      const stored = changed ? { ...(data as object), hash: entryHash(0) } : data;
      await other.log.append(stream, revision === 0 ? 'no_stream' : revision - 1, [
        { id, type, data: stored, metadata },
      ]);
    }
    other.clock.now += HOUR_MS;
    const credits = openFiller(other.log, START).credits;
    const grant = { type: 'grant', transaction_type: 'trial', reference_id: 'x', amount: 1, expires_at: null } as const;
    await credits.run('another', grant, commandContext(START));
    const signing = other.open();
    if (is_changed) await t.throwsAsync(signing.pass(), { code: 'ledger_changed' });
    await signing.pass();
    const sizes = (await other.listed()).map(({ tree_size }) => tree_size);
    t.deepEqual(sizes, is_changed ? [3] : [3, 4]);
    if (is_changed) continue;
    const [, last] = await other.listed();
    t.is((await proveConsistency(sourceOfLog(other.log), 3, 4)).second_root_hash, last!.root_hash);
  }
});

test('a transaction is of one user, whatever the ids are', (t) => {
  t.not(leafEntry('alice/bob', 'gift'), leafEntry('alice', 'bob/gift'));
  t.not(leafEntry('alice","bob', 'gift'), leafEntry('alice', 'bob","gift'));
});

test('a note is of its text and its key', (t) => {
  const text = `${ORIGIN}\n1\n${Buffer.from(entryHash(1), 'hex').toString('base64')}\nsigned at 2026-01-31T09:00:00.000Z\n`;
  const note = signer.sign(text);
  t.is(textOfNote(note, signer.verifier), text);
  t.deepEqual(parseCheckpoint(text), { origin: ORIGIN, tree_size: 1, root_hash: entryHash(1) });
  const other = openNoteSigner(ORIGIN, Buffer.from('another key'));
  for (const [changed, verifier] of [
    [note.replace('\n1\n', '\n2\n'), signer.verifier],
    [note, other.verifier],
    [other.sign(text), signer.verifier],
    [note.slice(0, -1), signer.verifier],
    [text, signer.verifier],
    ['', signer.verifier],
    [note, ''],
    [note, 'a+b+c'],
  ] as const) {
    t.is(textOfNote(changed, verifier), null);
  }
});

testWith('go')('Go verifies the notes of the service, and the proofs of a ledger from its log', async (t) => {
  const { log, clock, open, listed } = await signed(t);
  for (let n = 0; n < 3; n += 1) {
    await buy(log, 5, n * 5);
    clock.now += HOUR_MS;
    await open().pass();
  }
  const heads = await listed();
  const questions: Question[] = heads.map(({ note, verifier }) => ({
    ...({ kind: 'note', note, verifier } as const),
    text: note.slice(0, note.indexOf('\n\n') + 1),
  }));
  const source = sourceOfLog(log);
  const last = heads.at(-1)!;
  for (const { tree_size: first, root_hash: first_root } of heads) {
    const { proof } = await proveConsistency(source, first, last.tree_size);
    questions.push({
      ...{ kind: 'consistency', first, second: last.tree_size, first_root, second_root: last.root_hash, proof },
    });
  }
  const entries = await Array.fromAsync(source.events(['credits'], null));
  for (const [index, event] of entries.entries()) {
    const { proof } = await proveInclusion(source, index, last.tree_size);
    const leaf = (event as unknown as CreditsEvent).data.hash;
    questions.push({ kind: 'inclusion', leaf, index, size: last.tree_size, root: last.root_hash, proof });
  }
  t.deepEqual([...new Set(await askVerifier(questions))], ['ok']);
});
