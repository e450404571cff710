// Builds leave the last room of a disk to users. The disk here is a number.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { creditsProjection } from '../../../projections/billing/credits.ts';
import { keepRoom, reserveOf } from '../../../projections/projector/room.ts';
import { transactions } from '../../../readmodels/billing/credits.ts';
import {
  cancelBuild,
  inGeneration,
  projectionState,
  projectionStates,
  requestRebuild,
} from '../../../readmodels/projection-state.ts';
import { until } from '../../support/behind.ts';
import { appendLongLedger } from '../../support/long-ledger.ts';
import { project } from '../../support/stores.ts';
import { startProjector } from '../../support/tallies.ts';

const MB = 1_000_000;
/** Of a disk of 1 GB, 50 MB are kept. */
const TOTAL = 1_000 * MB;
const KEPT = reserveOf(null, TOTAL);

async function open(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'room-'));
  const disk = { free_bytes: TOTAL, looks: 0, onLook: () => {} };
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const room = async () => {
    disk.looks += 1;
    disk.onLook();
    return { free_bytes: disk.free_bytes, total_bytes: TOTAL };
  };
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db'), room });
  t.teardown(async () => {
    await documents.close();
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  await appendLongLedger(log, 4_000);
  await project({ log, documents }, [creditsProjection]);
  const state = async () => projectionState('credits', await documents.reading(projectionStates).get('credits'));
  const collections = async () => (await documents.names()).filter((name) => name.startsWith('transactions_'));
  /** Runs a projector until the condition holds. */
  async function projecting(holds: () => Promise<boolean>): Promise<void> {
    const stop = new AbortController();
    const running = startProjector({ log, documents }, [creditsProjection], stop.signal);
    await until(holds).finally(() => stop.abort());
    await running;
  }
  return { disk, log, documents, state, collections, projecting };
}

test('a rebuild that does not fit beside the reserve is refused with its figures, and goes on when there is room', async (t) => {
  const { disk, documents, state, collections, projecting } = await open(t);
  const need = await documents.disk!.bytesOf([inGeneration(transactions, 1).name]);
  t.true(need > MB / 2, String(need));
  disk.free_bytes = KEPT + Math.floor(need / 2);
  await requestRebuild(documents, 'credits');
  await projecting(async () => (await state()).failed !== null);
  const { failed, generation } = await state();
  t.is(generation, 1, 'the live one stays');
  t.regex(
    failed!.reason,
    /^it needs about [1-9]\d* MB beside the live documents, and the disk has 5\d MB free, of which 50 MB are kept/,
  );
  disk.free_bytes = TOTAL;
  await requestRebuild(documents, 'credits', { continues: 'any' });
  await projecting(async () => (await state()).generation > 1);
  t.is((await state()).failed, null);
  t.true((await collections()).length >= 1);
});

test('the pages of collections are counted only where the disk may be too small', async (t) => {
  const { disk, documents, state, projecting } = await open(t);
  let counts = 0;
  const { bytesOf } = documents.disk!;
  documents.disk!.bytesOf = (names) => {
    counts++;
    return bytesOf(names);
  };
  await requestRebuild(documents, 'credits');
  await projecting(async () => (await state()).generation > 1);
  t.is(counts, 0);
  disk.free_bytes = KEPT;
  await requestRebuild(documents, 'credits');
  await projecting(async () => (await state()).failed !== null || (await state()).generation > 2);
  t.true(counts > 0);
});

test('a build that fills a disk at 100 MB a second stops with most of the reserve left', async (t) => {
  const room = { free_bytes: KEPT + MB, total_bytes: TOTAL, used_bytes: 0, reusable_bytes: 0 };
  let now_ms = 0;
  const disk = { room: async () => room, bytesOf: async () => 0 };
  const { assertReserve } = keepRoom({ disk }, null, () => now_ms);
  const building = async () => {
    for (; room.free_bytes > 0; now_ms += 10, room.free_bytes -= MB) await assertReserve();
  };
  await t.throwsAsync(building(), { code: 'no_room' });
  t.true(room.free_bytes > 0.8 * KEPT, String(room.free_bytes));
});

test('a rebuild stops at the reserve, and cancelling it gives its room back', async (t) => {
  const { disk, documents, state, collections, projecting } = await open(t);
  await requestRebuild(documents, 'credits');
  // The first look finds that it fits; others take the room meanwhile.
  disk.onLook = () => {
    if (disk.looks > 1) disk.free_bytes = KEPT - 1;
  };
  disk.looks = 0;
  await projecting(async () => (await state()).failed !== null);
  t.regex(
    (await state()).failed!.reason,
    /^it has stopped, because the disk has 50 MB free, of which 50 MB are kept for users/,
  );
  t.is((await state()).generation, 1);
  t.is((await collections()).length, 2);

  t.true(await cancelBuild(documents, 'credits', creditsProjection.version));
  t.false(await cancelBuild(documents, 'credits', creditsProjection.version), 'twice is once');
  await projecting(async () => (await collections()).length === 1);
  t.like(await state(), { generation: 1, next: null, failed: null, rebuild: false });
});

test('a build of a new version that was cancelled waits for an operator', async (t) => {
  const { documents, state, log } = await open(t);
  const later = { ...creditsProjection, version: creditsProjection.version + 1 };
  await documents.transaction(async (inside) => {
    const states = await inside.collection(projectionStates);
    await states.write([{ update: 'credits', set: { $set: { rebuild: true } } }]);
  });
  t.true(await cancelBuild(documents, 'credits', later.version));
  await project({ log, documents }, [later]);
  t.like(await state(), { generation: 1, failed: { version: later.version, reason: 'an operator cancelled it' } });
});
