// A key outside of the machine signs the heads too, and witnesses keep them: what is away is told, and stops nothing.
import { randomBytes } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCommandSigner } from '../../adapters/ledger-witness/command-signer.ts';
import { openWitness } from '../../adapters/ledger-witness/witnesses.ts';
import { notesIn, openNoteSigner, textOfNote } from '../../audit/signed-note.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { type OutsideSigner, openWitnessing } from '../../processes/ledger-witness.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { opsHere } from '../support/run-ops.ts';

const OPS = join(import.meta.dirname, '../../cli/ops.ts');
const own = openNoteSigner('ledger/one', Buffer.alloc(32));
const quoted = (word: string) => `'${word}'`;

async function newFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outside-heads-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A log with entries, and what signs its heads. */
async function openLedger(t: ExecutionContext, outside: OutsideSigner | null = null) {
  const DATA_DIR = await newFolder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  t.teardown(() => log.close());
  const filler = openFiller(log);
  const told: (string | null)[] = [];
  const open = (signer: OutsideSigner | null) => {
    const heads = openLedgerHeads(log, 'ledger/one', own, signer);
    const { context } = filler;
    const options = {
      stored_log: log,
      interval_ms: 0,
      context,
      now: () => 0,
      tell: (fault: string | null) => told.push(fault),
    };
    return { heads, pass: openHeadSigning({ ...options, heads }).pass };
  };
  let payments = 0;
  const buy = () => filler.buy('alice', `pi-${payments++}`, 10);
  await buy();
  return { DATA_DIR, log, buy, told, open, ...open(outside) };
}

test('a command signs each head with a key that the machine does not have', async (t) => {
  const folder = await newFolder(t);
  const secret = join(folder, 'secret');
  await writeFile(secret, randomBytes(32));
  const shown = await opsHere(['ledger', 'sign-head', '--secret-file', secret, '--show-key'], {});
  const key = shown.stdout.trim();
  const command = [process.execPath, OPS, 'ledger', 'sign-head', '--secret-file', secret].map(quoted).join(' ');
  const isSigned = (signed: string, lines: string) => textOfNote(`${signed}\n${lines}`, key) !== null;
  const { pass, heads, told, DATA_DIR, open, buy, log } = await openLedger(t);
  t.true(await pass());
  const first = (await heads.last())!;
  t.is(textOfNote(first.note, key), null, 'before there was such a key');
  await buy();
  const outside = open(openCommandSigner({ command, isSigned }));
  t.true(await outside.pass());
  t.is(told.at(-1), null);
  const { note } = (await heads.last())!;
  for (const verifier of [own.verifier, key]) t.truthy(textOfNote(note, verifier), verifier);

  const verify = () => opsHere(['ledger', 'verify', '--key', key], { DATA_DIR });
  t.is((await verify()).code, 0, 'it vouches for the head before it, too');
  await buy();
  t.true(await open(null).pass());
  const unsigned = await verify();
  t.is(unsigned.code, 1);
  t.regex(unsigned.stdout, /the head of 3 entries is not signed by a trusted key/);
  await log.close();
});

for (const [what, command, message] of [
  ['fails', 'echo no route to the KMS >&2; exit 3', /ended with 3: no route to the KMS$/],
  ['is not there', '/nowhere/signer', /ended with 127/],
  ['prints no signature', 'echo signed', /prints no signature line/],
  ['prints nothing', 'cat > /dev/null', /prints no signature line/],
  ['prints without an end', 'yes', /prints too much/],
  ['signs with another key', "echo '— outside AAAAAAAAAAAAAAAA'", /not of the key LEDGER_SIGN_KEY/],
  ['never ends', 'sleep 600 & wait', /has not ended after 0.3 s/],
] as const) {
  test(`heads wait for a command that ${what}, which is told`, async (t) => {
    const { open, told, heads } = await openLedger(t);
    const broken = openCommandSigner({
      command,
      isSigned: () => false,
      timeout_ms: what === 'never ends' ? 300 : 20_000,
    });
    t.false(await open(broken).pass());
    t.is(await heads.last(), null);
    t.regex(told.at(-1)!, message);
    t.true(await open(async () => '— outside AAAAAAAA\n').pass());
    t.is(told.at(-1), null);
    t.is((await heads.last())!.tree_size, 1);
  });
}

test('a head that waits for the key is of all that came meanwhile', async (t) => {
  let is_away = true;
  const away = openCommandSigner({ command: 'exit 1' });
  const { pass, heads, buy } = await openLedger(t, async (signed) => (is_away ? away(signed) : '— outside AAAAAAAA\n'));
  t.false(await pass());
  await buy();
  t.false(await pass());
  is_away = false;
  t.true(await pass());
  t.is((await heads.last())!.tree_size, 2);
});

test('a file keeps each head once, also after a write that was cut off, and verifies the ledger', async (t) => {
  const { pass, heads, buy, DATA_DIR } = await openLedger(t);
  const path = join(await newFolder(t), 'heads.txt');
  const witness = openWitness(pathToFileURL(path).href);
  for (let n = 0; n < 3; n += 1) {
    await pass();
    const { note } = (await heads.last())!;
    await witness.give(note);
    await witness.give(note);
    if (n === 0) await appendFile(path, note.slice(0, 30));
    await buy();
  }
  t.is(notesIn(await readFile(path, 'utf8')).length, 3);
  const verified = await opsHere(['ledger', 'verify', '--head', path], { DATA_DIR });
  t.is(verified.code, 0, verified.stdout);
  t.regex(verified.stdout, / 6 signed heads compared/);
  const since = await opsHere(['ledger', 'verify', '--since-head', path], { DATA_DIR });
  t.regex(since.stdout, /^since the head of 3 entries: 1 entry,/);
});

test('a witness that is away is told and tried again later, and no other waits for it', async (t) => {
  const received: string[] = [];
  let status = 503;
  const server = createServer(async (request, response) => {
    received.push(`${request.method} ${request.headers.authorization ?? ''} ${await text(request)}`);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { pass, heads, buy } = await openLedger(t);
  await pass();
  const path = join(await newFolder(t), 'heads.txt');
  const clock = { ms: 0 };
  const told: (string | null)[] = [];
  const witnessing = openWitnessing({
    last: heads.last,
    witnesses: [openWitness(`http://user:secret@127.0.0.1:${port}/heads?key=x`), openWitness(pathToFileURL(path).href)],
    tell: (fault) => told.push(fault),
    monotonic: () => clock.ms,
  });
  await witnessing.pass();
  t.is(told.at(-1), `http://127.0.0.1:${port}: it answered 503`);
  const { note } = (await heads.last())!;
  t.is(await readFile(path, 'utf8'), `${note}\n`);
  await witnessing.pass();
  t.is(received.length, 1, 'not at once');
  await buy();
  await pass();
  clock.ms += 5_000;
  status = 200;
  await witnessing.pass();
  t.is(told.at(-1), null);
  const newest = (await heads.last())!.note;
  const authorization = `Basic ${Buffer.from('user:secret').toString('base64')}`;
  t.deepEqual(received, [`POST ${authorization} ${note}`, `POST ${authorization} ${newest}`]);
  await witnessing.pass();
  t.is(received.length, 2, 'each head once');
});

test('a witness that hangs gets no second head meanwhile', async (t) => {
  const { pass, heads, buy } = await openLedger(t);
  await pass();
  let given = 0;
  const hung = Promise.withResolvers<void>();
  const witness = { name: 'a disk', give: () => (given++ === 0 ? hung.promise : Promise.resolve()) };
  const told: (string | null)[] = [];
  const options = { last: heads.last, witnesses: [witness], tell: (fault: string | null) => told.push(fault) };
  const witnessing = openWitnessing({ ...options, monotonic: () => given * 1e9, give_ms: 1 });
  await witnessing.pass();
  t.is(told.at(-1), 'a disk: no answer within 0.001 s');
  await buy();
  await pass();
  await witnessing.pass();
  t.is(given, 1);
  hung.resolve();
  await hung.promise;
  await witnessing.pass();
  await witnessing.pass();
  t.is(given, 2);
  t.is(told.at(-1), null);
});
