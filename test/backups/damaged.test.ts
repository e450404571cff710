// Damaged files, stores that are not empty, and restores that are cut off.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test from 'ava';
import { parseLine } from '../../backups/lines.ts';
import { readParts, toParts } from '../../backups/parts.ts';
import { readBackup, verifyBackup } from '../../backups/read-backup.ts';
import { restoreBackup } from '../../backups/restore-backup.ts';
import { writeBackup } from '../../backups/write-backup.ts';
import type { StoredLog } from '../../events/event-store.ts';
import { fill, newEvents } from '../contracts/event-store/fixture.ts';
import { testWith } from '../support/programs.ts';
import { eventsOf, filesOf, openWorld, restoredEventsOf, use, type World } from './used-store.ts';

const key = 'backups/b-1/file.ndjson.zst';
const from = (file: Buffer) => async () => Readable.from([file], { objectMode: false });

async function backUp({ stored_log: log, blobs, folder }: World): Promise<Buffer> {
  const { signal } = new AbortController();
  await writeBackup({ backup_id: 'b-1', log, blobs, key, now: Date.now(), signal });
  return readFile(join(folder, 'blobs', key));
}

test('a backup that is cut anywhere, or has a flipped byte anywhere, is refused before a store is opened', async (t) => {
  const world = await openWorld(t, 'sqlite');
  await use(world);
  const file = await backUp(world);
  const into = async () => t.fail('a store was opened') as never;
  const refused = async (damaged: Buffer) => {
    const restoring = restoreBackup({ open: from(damaged), into });
    return t.throwsAsync(restoring, { code: 'damaged_backup' });
  };
  const places = [...Array(300).keys()].map((n) => Math.floor((n * file.length) / 300));
  for (const at of [...places, ...Array(150).keys(), file.length - 1]) {
    const flipped = Buffer.from(file);
    flipped[at]! ^= 1 << (at % 8);
    const error = await refused(flipped);
    if (error && at > 200) t.regex(error.message, /part \d+, which begins at byte \d+/);
    await refused(file.subarray(0, at));
  }
  await refused(Buffer.concat([file, Buffer.from('more')]));
  await refused(Buffer.concat([file, file]));
  await refused(randomBytes(5000));
});

test('parts cannot be left out, repeated or put in another order', async (t) => {
  async function* lines() {
    for (let n = 0; n < 5; n += 1) yield `${n}`.repeat(2 ** 20);
  }
  const parts = await Array.fromAsync(toParts(lines()));
  t.is(parts.length, 5);
  const read = (some: Buffer[]) =>
    Array.fromAsync(readParts(Readable.from([Buffer.concat(some)], { objectMode: false })));
  t.is((await read(parts)).length, 5);
  const [a, b, c, d, e] = parts as [Buffer, Buffer, Buffer, Buffer, Buffer];
  for (const others of [
    [b, c, d, e],
    [a, b, d, e],
    [a, a, b, c, d, e],
    [a, c, b, d, e],
  ]) {
    await t.throwsAsync(read(others), { code: 'damaged_backup' });
  }
  const flipped = Buffer.from(c);
  flipped[c.length - 1]! ^= 1;
  const from_byte = a.length + b.length;
  await t.throwsAsync(read([a, b, flipped, d, e]), {
    message: new RegExp(`^part 2, which begins at byte ${from_byte}, and ends at byte ${from_byte + c.length}, `),
  });
});

testWith('zstd')('the program zstd prints the lines of a backup', async (t) => {
  const world = await openWorld(t, 'sqlite');
  await use(world);
  const printed = spawnSync('zstd', ['-dc'], { input: await backUp(world), encoding: 'utf8', maxBuffer: 2 ** 26 });
  t.is(printed.status, 0, printed.stderr);
  const kinds = printed.stdout
    .trimEnd()
    .split('\n')
    .map((line) => parseLine(line).kind);
  t.deepEqual([...new Set(kinds)], ['first', 'event', 'file', 'deleted', 'last']);
});

const FIRST =
  '{"format":"url-checker-backup","version":1,"backup_id":"b","log_id":"l","position":"p","began_at":"now"}';
const EVENT = '{"stream":"job-1","revision":0,"id":"i","type":"T","data":{},"metadata":{}}';
const OTHER = EVENT.replace('job-1', 'job-2');
const END = (events: number, files = 0) => JSON.stringify({ end: { events, files, deleted_streams: 0 } });

for (const [what, lines] of Object.entries({
  'no end': [FIRST, EVENT],
  'no beginning': [EVENT, END(1)],
  'an event too few': [FIRST, END(1)],
  'an event after the end': [FIRST, END(0), EVENT],
  'a line that is no JSON': [FIRST, '{', END(0)],
  'a line that is a number': [FIRST, '1', END(0)],
  'a line of no kind': [FIRST, '{"a":1}', END(0)],
  'an event with a negative revision': [FIRST, EVENT.replace('0', '-1'), END(1)],
  'an event without data': [FIRST, EVENT.replace('"data":{},', ''), END(1)],
  'an event whose data are null': [FIRST, EVENT.replace('"data":{}', '"data":null'), END(1)],
  'an event whose metadata are a text': [FIRST, EVENT.replace('"metadata":{}', '"metadata":"x"'), END(1)],
  "an event in a stream of the store's own": [FIRST, EVENT.replace('job-1', '$$job-1'), END(1)],
  "a deletion of a stream of the store's own": [
    FIRST,
    '{"deleted_stream":"$all"}',
    '{"end":{"events":0,"files":0,"deleted_streams":1}}',
  ],
  'a first line that names no backup': ['{"format":"url-checker-backup","version":1}', END(0)],
  'a stream that lacks its first event': [FIRST, EVENT.replace('0', '1'), END(1)],
  'a stream that lacks an event': [FIRST, EVENT, OTHER, EVENT.replace('0', '2'), END(3)],
  'an event twice': [FIRST, EVENT, OTHER, EVENT, END(3)],
  'a later version': [FIRST.replace('"version":1', '"version":2'), END(0)],
  'a file outside of the folder': [FIRST, '{"file":"../a","content":"","size_bytes":0}', END(0, 1)],
  'a file among the backups': [FIRST, '{"file":"backups/a","content":"","size_bytes":0}', END(0, 1)],
  'a file of another size': [FIRST, '{"file":"a","content":"AAAA","size_bytes":4}', END(0, 1)],
  'a file that is no base64': [FIRST, '{"file":"a","content":"!!!!","size_bytes":3}', END(0, 1)],
  'a file without its end': [FIRST, '{"file":"a","content":"AAAA"}', END(0, 1)],
  'a file in another': [FIRST, '{"file":"a","content":"AAAA"}', '{"file":"b","content":"","size_bytes":0}', END(0, 2)],
})) {
  test(`a file whose checksums are right is refused with ${what}`, async (t) => {
    const parts = await Array.fromAsync(toParts(Readable.from(lines)));
    await t.throwsAsync(verifyBackup(from(Buffer.concat(parts))), { code: 'damaged_backup' });
  });
}

test('events of many streams in turn are whole', async (t) => {
  const STREAMS = 3_000;
  function* lines() {
    yield FIRST;
    for (let n = 0; n < 3 * STREAMS; n += 1) {
      yield EVENT.replace('job-1', `job-${n % STREAMS}`).replace(
        '"revision":0',
        `"revision":${Math.floor(n / STREAMS)}`,
      );
    }
    yield END(3 * STREAMS);
  }
  const file = Buffer.concat(await Array.fromAsync(toParts(Readable.from(lines()))));
  t.like(await verifyBackup(from(file)), { events: 3 * STREAMS });
});

test('a part that would inflate beyond its limit is refused', async (t) => {
  const parts = await Array.fromAsync(toParts(Readable.from([' '.repeat(9 * 2 ** 20)])));
  await t.throwsAsync(Array.fromAsync(readBackup(await from(Buffer.concat(parts))())), { code: 'damaged_backup' });
});

test('a log that holds anything else is left as it is', async (t) => {
  const [world, target, full] = [
    await openWorld(t, 'sqlite'),
    await openWorld(t, 'sqlite'),
    await openWorld(t, 'sqlite'),
  ];
  await use(world);
  const file = await backUp(world);
  await fill(target.stored_log, 'other-1', newEvents(1));
  const before = await eventsOf(target.stored_log);
  const into = ({ stored_log: log, blobs }: World) =>
    restoreBackup({ open: from(file), into: async () => ({ log, blobs }) });
  await t.throwsAsync(into(target), { code: 'log_not_empty' });
  t.deepEqual(await eventsOf(target.stored_log), before);
  t.is((await filesOf(target.blobs)).size, 0);

  await into(full);
  await fill(full.stored_log, 'other-1', newEvents(1));
  await t.throwsAsync(into(full), { code: 'log_not_empty' });
});

for (const kind of ['sqlite', 'eventstoredb'] as const) {
  test(`a restore into ${kind} that is cut off anywhere resumes when it is started again`, async (t) => {
    const [world, target] = [await openWorld(t, 'sqlite'), await openWorld(t, kind)];
    await use(world);
    const file = await backUp(world);
    let made = 0;
    let most = 0;
    const killed = new Error('killed');
    /** Dies at the step after `most`, and in the middle of a batch of appends. */
    const step = async <T>(run: () => Promise<T>): Promise<T> => {
      if (made++ >= most) throw killed;
      return run();
    };
    const { stored_log } = target;
    const dying: StoredLog = {
      ...{ readAll: (o) => stored_log.readAll(o), readStream: (s, o) => stored_log.readStream(s, o) },
      ...{ append: (...a) => step(() => stored_log.append(...a)), subscribe: (o) => stored_log.subscribe(o) },
      ...{ head: () => stored_log.head(), close: () => stored_log.close() },
      deletedStreams: () => stored_log.deletedStreams(),
      deleteStream: (stream) => step(() => stored_log.deleteStream(stream)),
      appendInOrder: async (appends) => {
        const results = [];
        for (const append of appends) results.push(...(await step(() => stored_log.appendInOrder([append]))));
        return results;
      },
    };
    const blobs = { put: (name: string, content: Readable) => step(() => target.blobs.put(name, content)) };
    let deaths = 0;
    for (; ; most += 1) {
      made = 0;
      try {
        await restoreBackup({ open: from(file), into: async () => ({ log: dying, blobs }) });
        break;
      } catch (error) {
        if (error !== killed) throw error;
        deaths += 1;
      }
    }
    t.true(deaths > 10);
    t.deepEqual(await restoredEventsOf(stored_log), await eventsOf(world.stored_log));
    t.deepEqual(await filesOf(target.blobs), await filesOf(world.blobs));
    await restoreBackup({ open: from(file), into: async () => ({ log: stored_log, blobs: target.blobs }) });
    t.deepEqual(await restoredEventsOf(stored_log), await eventsOf(world.stored_log));
  });
}
