// A service signs heads of its ledger and proves entries over HTTP; the log alone gives the same proofs, and a kept head finds every change.
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import canonicalize from 'canonicalize';
import { leafOf } from '../../audit/merkle.ts';
import { notesIn, openNoteSigner } from '../../audit/signed-note.ts';
import { entryHash } from '../../events/credits.ts';
import { until } from '../support/behind.ts';
import { runProgram } from '../support/run-program.ts';
import { startTestService } from '../support/service.ts';
import { isConsistent, isIncluded } from '../support/verify-proof.ts';

const ops = (env: Record<string, string>, ...args: string[]) => runProgram('ops', args, env);
const buffers = (proof: readonly string[]) => proof.map((each) => Buffer.from(each, 'hex'));

/** Changes the first entry of the ledger, and computes every hash after it anew. */
function forge(path: string): void {
  const db = new DatabaseSync(path);
  const rows = db
    .prepare(
      `SELECT e.position, s.name AS stream, e.revision, e.id, e.type, e.metadata, e.data FROM events e
       JOIN streams s ON s.id = e.stream_id WHERE s.category = 'credits' ORDER BY e.position`,
    )
    .all() as {
    position: number;
    stream: string;
    revision: number;
    id: string;
    type: string;
    metadata: string;
    data: string;
  }[];
  const hashes = new Map<string, string>();
  for (const [n, { position, stream, revision, id, type, ...texts }] of rows.entries()) {
    const [data, metadata] = [JSON.parse(texts.data), JSON.parse(texts.metadata)];
    if (n === 0) metadata.actor = 'admin:mallory';
    const made = entryHash(hashes.get(stream) ?? '', { stream, revision, id, type, data, metadata });
    hashes.set(stream, made);
    db.prepare('UPDATE events SET data = ?, metadata = ? WHERE position = ?').run(
      JSON.stringify({ ...data, hash: made }),
      JSON.stringify(metadata),
      position,
    );
  }
  db.close();
}

test('heads and proofs of a running service hold, and a kept head finds that an entry was changed', async (t) => {
  const service = await startTestService();
  const folder = await mkdtemp(join(tmpdir(), 'heads-'));
  try {
    const alice = await service.client('alice');
    const bob = await service.client('bob');
    const root = await service.client('root', { is_admin: true });
    const get = async (client: typeof alice, path: string) => (await client.ask('GET', path)).body;
    for (const [client, os] of [
      [alice, 'Linux'],
      [bob, 'macOS'],
    ] as const) {
      t.is((await client.ask('POST', '/users/me/fingerprint', { os })).body.signup_bonus, 'granted');
    }
    await until(async () => (await get(alice, '/audit/heads')).total > 0);
    const [head] = (await get(alice, '/audit/heads')).items;
    t.true(head.note.startsWith('url-checker-ledger/'));

    const { second, second_root_hash, proof } = await get(alice, `/audit/consistency?first=${head.tree_size}`);
    const later = { size: second, root: Buffer.from(second_root_hash, 'hex') };
    const kept = { size: head.tree_size, root: Buffer.from(head.root_hash, 'hex') };
    t.true(isConsistent(kept, later, buffers(proof)));
    t.is((await alice.ask('GET', `/audit/consistency?first=${second + 1}`)).status, 409);

    const [{ transaction_id }] = (await get(alice, '/users/me/credit-transactions')).items;
    const query = `transaction_id=${encodeURIComponent(transaction_id)}`;
    const included = await get(alice, `/audit/inclusion?${query}`);
    t.is(included.entry_hash, hash('sha256', canonicalize(included.entry)!));
    const place = [included.leaf_index, included.tree_size] as const;
    const tree_root = Buffer.from(included.root_hash, 'hex');
    t.true(isIncluded(leafOf(included.entry_hash), ...place, buffers(included.proof), tree_root));
    t.is((await bob.ask('GET', `/audit/inclusion?${query}&user_id=alice`)).status, 403);
    const of_alice = `${query}&user_id=alice&size=${included.tree_size}`;
    t.deepEqual(await get(root, `/audit/inclusion?${of_alice}`), included);
    t.is((await bob.ask('GET', `/audit/inclusion?${query}`)).status, 404);
    t.is((await alice.ask('GET', `/audit/inclusion?${query}&size=0`)).status, 409);

    // The log alone says the same, also while the service runs.
    const env = { DATA_DIR: service.data_dir };
    const args = ['--user', 'alice', '--transaction', transaction_id, '--size', String(included.tree_size)];
    t.deepEqual(JSON.parse((await ops(env, 'ledger', 'prove-inclusion', ...args)).stdout), included);
    const sizes = ['--first', String(head.tree_size), '--second', String(second)];
    const proven = await ops(env, 'ledger', 'prove-consistency', ...sizes);
    t.deepEqual(JSON.parse(proven.stdout).proof, proof);
    const note = join(folder, 'head.txt');
    await writeFile(note, (await ops(env, 'ledger', 'heads', '--last')).stdout);
    const verify = (data_dir: string, ...more: string[]) => ops({ DATA_DIR: data_dir }, 'ledger', 'verify', ...more);
    const trusting = ['--head', note, '--key', head.verifier];
    const clean = await verify(service.data_dir, ...trusting);
    t.is(clean.code, 0, clean.stdout + clean.stderr);

    await service.stop((data_dir) => cp(data_dir, folder, { recursive: true }));
    const path = join(folder, 'events.db');
    forge(path);
    const forged = await verify(folder);
    t.is(forged.code, 1);
    t.regex(forged.stdout, /violation at position \d+, ledger_heads-log 0: the root of the first/);
    t.notRegex(forged.stdout, /\(chain/);
    // Whoever holds the store may remove its heads. A kept one is out of reach.
    const db = new DatabaseSync(path);
    db.exec("DELETE FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = 'ledger_heads-log')");
    db.close();
    t.is((await verify(folder)).code, 0);
    const found = await verify(folder, ...trusting);
    t.is(found.code, 1);
    t.regex(found.stdout, /violation: the root of the first \d+ entr/);
    const other = openNoteSigner(head.note.split('\n', 1)[0], Buffer.alloc(32)).verifier;
    t.is((await verify(folder, '--head', note, '--key', other)).code, 1);
    t.is((await verify(folder, '--head', note, '--key', head.verifier.replace(/.{4}$/, 'AAA='))).code, 2);
    t.is((await verify(folder, '--head', path)).code, 2);
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

test('the service tells that a key outside is away, and gives the head to its witness once it is back', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heads-'));
  const [unlocked, kept] = [join(folder, 'unlocked'), join(folder, 'heads.txt')];
  const service = await startTestService({
    LEDGER_SIGN_COMMAND: `test -e '${unlocked}' && echo '— outside AAAAAAAAAAAA' || { echo locked >&2; exit 1; }`,
    LEDGER_WITNESS: pathToFileURL(kept).href,
  });
  try {
    const root = await service.client('root', { is_admin: true });
    await root.ask('GET', '/users/me/credits');
    const signer = async () =>
      (await root.ask('GET', '/admin/services')).body.dependencies.find(
        ({ name }: { name: string }) => name === 'ledger_signer',
      );
    await until(async () => (await signer())?.status === 'away');
    t.regex((await signer()).reason, /ended with 1: locked$/);
    t.is((await root.ask('GET', '/audit/heads')).body.total, 0);
    await writeFile(unlocked, '');
    await until(() => existsSync(kept));
    const [head] = (await root.ask('GET', '/audit/heads')).body.items;
    t.deepEqual(notesIn(await readFile(kept, 'utf8')), [head.note]);
    t.regex(head.note, /\n— outside AAAAAAAAAAAA\n$/);
    await until(async () => (await signer())?.status === 'ok');
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
