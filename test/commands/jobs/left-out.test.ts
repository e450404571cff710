// What a submission leaves out is stored while its list is read, in bounded memory and size, or not at all.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import type { Blobs } from '../../../commands/blobs.ts';
import { leftOutKey } from '../../../commands/jobs/job-blobs.ts';
import {
  hasReason,
  leftOutLines,
  leftOutOf,
  MAX_LEFT_OUT_BYTES,
  openLeftOut,
} from '../../../commands/jobs/left-out.ts';

/** Blobs in memory, which take content when they are let. */
function heldBlobs() {
  const held = new Map<string, Buffer>();
  const gate = Promise.withResolvers<void>();
  let fault: Error | null = null;
  const blobs: Pick<Blobs, 'put' | 'get' | 'delete'> = {
    async put(key, content) {
      await gate.promise;
      if (fault) throw fault;
      const bytes = await buffer(content);
      held.set(key, bytes);
      return { size_bytes: bytes.length };
    },
    get: async (key) => {
      const bytes = held.get(key);
      return bytes === undefined
        ? null
        : Readable.from([bytes.subarray(0, 10), bytes.subarray(10)], { objectMode: false });
    },
    delete: async (key) => void held.delete(key),
  };
  const open = (error: Error | null = null) => {
    fault = error;
    gate.resolve();
  };
  return { blobs, held, open };
}

const long = { row: 1, reason: 'malformed', value: 'x'.repeat(200) };

test('texts that were left out are read in the order in which they were added', async (t) => {
  const { blobs, open } = heldBlobs();
  open();
  const entries = [
    { row: 2, reason: 'duplicate', value: 'https://a.example/\n"é"', first: { index: 0, row: 1 } },
    { row: 3, reason: 'no_domain', value: 'nope' },
  ];
  const writer = openLeftOut(blobs, 'j');
  for (const entry of entries) writer.add(entry);
  await writer.end();
  const lines = (await Array.fromAsync(leftOutLines(blobs, 'j'))).flat();
  t.deepEqual(lines.map(leftOutOf), entries);
  t.deepEqual(
    lines.map((line) => hasReason(line, 'duplicate')),
    [true, false],
  );
});

test('a submission that leaves nothing out makes no blob', async (t) => {
  const { blobs, held, open } = heldBlobs();
  open();
  await openLeftOut(blobs, 'j').end();
  t.is(held.size, 0);
  t.deepEqual(await Array.fromAsync(leftOutLines(blobs, 'j')), []);
});

test('the writer asks to wait while the store takes nothing, and stops at its limit', async (t) => {
  const { blobs, held, open } = heldBlobs();
  const writer = openLeftOut(blobs, 'j');
  t.is(writer.drained(), undefined);
  for (let n = 0; n < 1000; n++) writer.add(long);
  const draining = writer.drained();
  t.not(draining, undefined);
  open();
  await draining;
  for (let n = 0; n < 500_000; n++) {
    writer.add(long);
    const pause = writer.drained();
    if (pause) await pause;
  }
  await writer.end();
  const { length } = held.get(leftOutKey('j'))!;
  t.true(length <= MAX_LEFT_OUT_BYTES + 1000 && length > MAX_LEFT_OUT_BYTES - 100_000, `${length}`);
});

test('a fault of the store ends the submission, also one that waits for room', async (t) => {
  const { blobs, open } = heldBlobs();
  const writer = openLeftOut(blobs, 'j');
  for (let n = 0; n < 1000; n++) writer.add(long);
  const draining = writer.drained();
  open(new Error('disk full'));
  await draining;
  writer.add(long);
  t.is(writer.drained(), undefined);
  await t.throwsAsync(writer.end(), { message: 'disk full' });
  await writer.discard();
});

test('a refused submission leaves no blob', async (t) => {
  const { blobs, held, open } = heldBlobs();
  open();
  for (const entries of [0, 1, 1000]) {
    const writer = openLeftOut(blobs, 'j');
    for (let n = 0; n < entries; n++) writer.add(long);
    await nextTurn();
    await writer.discard();
    t.is(held.size, 0);
  }
  const ended = openLeftOut(blobs, 'j');
  ended.add(long);
  await ended.end();
  t.is(held.size, 1);
  await ended.discard();
  t.is(held.size, 0);
});
