// An exported ledger: each changed byte is found and named, wherever it is.
import { hash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { exportLines, sourceOfFile } from '../../audit/export-file.ts';
import type { Violation } from '../../audit/findings.ts';
import { AUDITED } from '../../audit/ledger-audit.ts';
import { sourceOfLog } from '../../audit/source.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { openTestStores } from '../support/stores.ts';

const NEWLINE = 0x0a;

async function exported(t: ExecutionContext) {
  const { log } = await openTestStores(t);
  const filler = openFiller(log);
  await filler.buy('älice', 'pi-1', 100);
  const job_id = await filler.job('älice', 20, 12, 'cancelled');
  await filler.settle('älice', job_id, 20, 12);
  const facts = { log_id: null, exported_at: '2026-01-31T09:00:00.000Z' };
  const lines = await Array.fromAsync(exportLines(sourceOfLog(log), null, facts));
  const folder = await mkdtemp(join(tmpdir(), 'export-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'ledger.jsonl');
  await writeFile(path, lines.join(''));
  return { log, path, bytes: await readFile(path) };
}

async function damagesOf(path: string): Promise<Violation[]> {
  const found: Violation[] = [];
  for await (const _ of sourceOfFile(path, (violation) => found.push(violation)).events(AUDITED, null));
  return found;
}

test('a file gives the events of the log', async (t) => {
  const { log, path } = await exported(t);
  const facts = ({ position, stream, revision, id, type, data, metadata }: Record<string, unknown>) => ({
    ...{ position, stream, revision, id, type, data, metadata },
  });
  const of_log = await Array.fromAsync(log.readAll({ filter: { categories: AUDITED } }));
  const of_file = await Array.fromAsync(sourceOfFile(path).events(AUDITED, null));
  t.deepEqual(
    of_file.map((event) => facts({ ...event })),
    of_log.map((event) => facts({ ...event })),
  );
  t.deepEqual(await damagesOf(path), []);
});

test('every changed byte is found, and its line is named', async (t) => {
  const { path, bytes } = await exported(t);
  let line = 1;
  for (const [at, byte] of bytes.entries()) {
    // Each byte of the header, of a line of each kind and of the end would take a minute; a third takes seconds.
    if (at % 3 === 0 || byte === NEWLINE) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 7);
      await writeFile(path, changed);
      const found = await damagesOf(path).catch((error) => [error as Violation]);
      const named = found.some(({ message }) => new RegExp(`line ${line}(?:,| )|of a later version`).test(message));
      // A changed line end makes one line of two.
      t.true(named, `byte ${at} of line ${line}: ${JSON.stringify(found)}`);
    }
    if (byte === NEWLINE) line += 1;
  }
});

/** A file of these records, whose sums are right. */
async function summed(path: string, records: readonly string[]): Promise<void> {
  let sum = '0'.repeat(64);
  const lines = records.map((record) => {
    sum = hash('sha256', sum + record, 'hex');
    return `{"sum":"${sum}","record":${record}}\n`;
  });
  await writeFile(path, lines.join(''));
}

test('a record that cannot be read, and events in another order, are found under sums that are right', async (t) => {
  const { path, bytes } = await exported(t);
  const lines = bytes.toString().split('\n').slice(0, -1);
  const records = lines.map((line) => line.slice(line.indexOf('"record":') + '"record":'.length, -1));
  await summed(path, records);
  t.deepEqual(await readFile(path), bytes);
  for (const record of ['{', 'null', '7', '{}', '{"kind":"head"}', '{"kind":"head","head":{}}', '{"kind":"event"}']) {
    await summed(path, records.toSpliced(2, 0, record));
    t.regex((await damagesOf(path))[0]?.message ?? '', /^line 3/, record);
  }
  await summed(path, records.with(2, records[3]!).with(3, records[2]!));
  t.regex((await damagesOf(path))[0]!.message, /comes after position/);
});

test('a line without end is refused before it fills the memory', async (t) => {
  const { path, bytes } = await exported(t);
  await writeFile(path, Buffer.concat([bytes, Buffer.alloc(2 ** 26 + 2 ** 21, 'x')]));
  await t.throwsAsync(damagesOf(path), { code: 'no_export' });
});

test('a file that is cut off, longer, or has its lines exchanged is found', async (t) => {
  const { path, bytes } = await exported(t);
  const lines = bytes.toString().split('\n').slice(0, -1);
  const write = (changed: readonly string[]) => writeFile(path, `${changed.join('\n')}\n`);
  for (let length = 1; length < lines.length; length += 1) {
    await write(lines.slice(0, length));
    t.regex((await damagesOf(path))[0]?.message ?? '', /ends before its last line/);
    await write(lines.toSpliced(length, 1));
    t.true((await damagesOf(path)).length > 0);
    await write(lines.toSpliced(length, 0, lines[length]!));
    t.true((await damagesOf(path)).length > 0);
  }
  await write([...lines, lines[3]!]);
  t.true((await damagesOf(path)).length > 0);
});
