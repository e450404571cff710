// Rebuilds every read model of a large log inside a whole service at its shipped limits of memory, kills the service in the middle, and
// says what the rebuild took: node bench/rebuild-kills.ts [--jobs 5000] [--hosts 1000] [--kills 10] [--data DIR] [--domains-only]
// `--data` keeps the folder and its log for another run; without it both go with the benchmark.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { ALL_PROJECTIONS } from '../projections/all.ts';
import type { Documents } from '../readmodels/documents.ts';
import {
  PROJECTOR,
  type ProjectionState,
  projectionStates,
  projectorStates,
  requestRebuild,
} from '../readmodels/projection-state.ts';
import { appendManyJobs } from '../test/support/many-jobs.ts';
import { type ServiceProcess, startServiceProcess } from '../test/support/service-process.ts';
import { codedOf } from '../test/support/stores.ts';
import { environmentOfStart } from './service.ts';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '5000' },
    hosts: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '10' },
    data: { type: 'string' },
    'domains-only': { type: 'boolean', default: false },
  },
});
const [jobs, hosts, kills] = [values.jobs, values.hosts, values.kills].map(Number) as [number, number, number];
/** A look at the states and the memory. */
const LOOK_MS = 200;
const MB = 2 ** 20;

const folder = values.data ?? (await mkdtemp(join(tmpdir(), 'url-checker-rebuild-')));

async function write(): Promise<void> {
  await mkdir(folder, { recursive: true });
  const stored = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const log = await codedOf(stored, folder);
  const say = (done: number) => done % 500 === 0 && console.log(`${done} jobs are written`);
  const sizes = { jobs, hosts, all_hosts: Math.max(hosts, 100_000), owner_id: 'bench' };
  await appendManyJobs(log, { ...sizes, is_domains_only: values['domains-only'] }, say);
  await log.close();
}

async function run(): Promise<void> {
  const env = {
    DATA_DIR: folder,
    LOG_LEVEL: 'info',
    ROLES: 'http,projector,processes',
    ...(await environmentOfStart()),
  };
  const start = () => startServiceProcess(env);
  let service = await start();
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  let began = performance.now();
  let peak_mb = 0;
  let failed_probes = 0;
  async function look(): Promise<boolean> {
    peak_mb = Math.max(peak_mb, (await memoryOf(service)) / MB);
    const alive = await fetch(`${service.url}/healthz`).catch(() => null);
    if (alive?.status !== 200) failed_probes++;
    return alive !== null;
  }
  async function until(reached: (states: readonly ProjectionState[]) => boolean): Promise<void> {
    while (!reached(await states(documents))) {
      if (!(await look())) throw new Error(`the service ended:\n${service.output().slice(-3000)}`);
      await delay(LOOK_MS);
    }
  }
  const say = (what: string) =>
    console.log(`${what}: ${((performance.now() - began) / 1000).toFixed(0)} s, peak ${peak_mb.toFixed(0)} MB`);
  try {
    const names = ALL_PROJECTIONS.map(({ name }) => name);
    const ask = async () => {
      for (const name of names) await requestRebuild(documents, name);
    };
    const isLive = (found: readonly ProjectionState[]) =>
      names.every((name) => found.some(({ _id, generation, next }) => _id === name && generation > 0 && next === null));
    await until(isLive);
    while ((await documents.reading(projectorStates).get(PROJECTOR))?.catching_up_to !== null) {
      await look();
      await delay(LOOK_MS);
    }
    say('the first documents');

    const before = new Map((await states(documents)).map(({ _id, generation }) => [_id, generation]));
    [began, peak_mb] = [performance.now(), 0];
    await ask();
    for (let n = 0; n < kills; n++) {
      // A small log may be rebuilt before the last kill.
      if (isLive(await states(documents))) await ask();
      await until((found) => found.some(({ next }) => next !== null));
      await delay(2_000 * Math.random());
      await service.kill();
      service = await start();
    }
    await until((found) =>
      names.every((name) => found.some(({ _id, generation }) => _id === name && generation > before.get(name)!)),
    );
    say(`rebuilt with ${kills} kills, ${failed_probes} probes failed`);
    assert.equal(failed_probes, 0);
  } finally {
    await documents.close();
    await service.stop();
  }
}

const states = (documents: Documents) => documents.reading(projectionStates).find({});

async function memoryOf({ pid }: ServiceProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
}

try {
  if (!existsSync(join(folder, 'events.db'))) await write();
  await run();
} finally {
  if (!values.data) await rm(folder, { recursive: true, force: true });
}
