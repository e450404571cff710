// The kinds of faults that a shape can have: what each does, for how long the service may stand still after it, and who is told.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import type { Direction } from '../support/tcp-proxy.ts';
import { ofClusters } from './cluster-faults.ts';
import { fairNow, slowness } from './fair-clock.ts';
import { type Fault, STORE_BACK_MS, type Told, troubling, type World } from './fault.ts';
import type { Server, Shape } from './shapes.ts';
import type { Supervised } from './supervised.ts';

const MINUTE = 60_000;
/** Right, half an hour fast, an hour slow. */
const OFFSETS_MS = [0, 30 * MINUTE, -60 * MINUTE];
const ENDED_WHILE_STARTING = 143;
/** The service ends its roles after 14 s and exits with 1. */
const CUT_OFF = 1;
/** It kills itself after 20 s, when a thread hangs outside of JavaScript, and logs that. A kill by anything else is a violation. */
const KILLED = 137;
const KILLS_ITSELF = 'the service kills itself';
/** The driver's own processes make it some 5. */
const STARVED = 10;
/** Past the lease of a role, which is 6 s. */
const PAST_LEASE_MS = 12_000;
/** Retries of webhooks begin after 4 s: each delivery fails once. */
const RECEIVERS_FAIL_MS = 3500;
/** A process starts, or another takes over its lease. */
const PROCESS_BACK_MS = 15_000;

/** The condition of /readyz that names a server. */
const CHECK_OF: Readonly<Record<string, string>> = {
  mongod: 'documents',
  'nats-server': 'queue',
  eventstoredb: 'event_log',
};
const awayOf = ({ name }: Server): Told => ({ check: CHECK_OF[name]!, alert: 'ServiceNotReady' });

export function faultKinds(world: World): readonly Fault[] {
  const { shape } = world;
  return [
    ...ofProcesses(world),
    ...ofTheOutside(world),
    ...(shape.disk ? [fullDisk(world)] : []),
    ...(shape.servers.length > 0
      ? [...ofServers(world), ...ofRoads(world), ...ofEmptyStores(world), ...ofClusters(world)]
      : [slowDisk(world)]),
  ];
}

function ofProcesses(world: World): Fault[] {
  const { random, shape } = world;
  const one = (run: (role: Supervised) => Promise<void>) => () => troubling(world, shape.processes, run);
  const back_ms = PROCESS_BACK_MS;
  return [
    { kind: 'kill -9 of a role', weight: 6, back_ms, run: one((role) => role.kill(random.between(0, 1500))) },
    { kind: 'SIGTERM of a role', weight: 2, back_ms, run: one((role) => end(role, world)) },
    { kind: 'SIGSTOP of a role', weight: 2, back_ms, run: one((role) => role.freeze(random.between(500, 4000))) },
    { kind: 'SIGSTOP of a role past its lease', weight: 2, back_ms, run: one((role) => role.freeze(PAST_LEASE_MS)) },
    { kind: 'a rebuild', weight: 2, back_ms, run: () => world.rebuild(random.pick(ALL_PROJECTIONS).name) },
    { kind: 'a step of the clock', weight: 2, back_ms, run: () => shape.step(random.pick(OFFSETS_MS)) },
  ];
}

async function end(role: Supervised, { spans, violated }: World): Promise<void> {
  const began = fairNow();
  const code = await role.restart();
  const others = spans.filter(({ what, to }) => what !== 'SIGTERM of a role' && to > began - PAST_LEASE_MS);
  // A role may not end in time while a store is away or the processor is.
  const is_excused = others.length > 0 || slowness() > STARVED;
  const kills_itself = code === KILLED && role.lastLines().includes(KILLS_ITSELF);
  const is_cut_off = (code === CUT_OFF || kills_itself) && is_excused;
  if (code !== 0 && code !== ENDED_WHILE_STARTING && !is_cut_off)
    violated(`${role.name} was asked to end and did so with ${code}: ${role.lastLines()}`);
}

/** What others do to the service: the mail server, receivers, and a process of a later version. */
function ofTheOutside(world: World): Fault[] {
  const { shape, target, post, random } = world;
  let later = 0;
  return [
    {
      kind: 'refused mails',
      weight: 2,
      back_ms: STORE_BACK_MS,
      async run({ is_long }) {
        post.refuses = true;
        await sleep(is_long ? 10_000 : random.between(1000, 8000));
        post.refuses = false;
      },
    },
    {
      kind: 'receivers that all fail',
      weight: 2,
      back_ms: STORE_BACK_MS,
      async run() {
        target.receivers_fail = true;
        await sleep(RECEIVERS_FAIL_MS);
        target.receivers_fail = false;
      },
    },
    {
      kind: "a later version's event",
      weight: 1,
      back_ms: STORE_BACK_MS,
      async run({ is_long, tells }) {
        // The disk may be full for it too.
        if (!(await appendLater(shape, later++).catch(() => false))) return;
        tells({ alert: 'EventsParked' });
        if (is_long) await sleep(10_000);
      },
    },
  ];
}

/** An event of a type that is known, in a version that is not. */
async function appendLater(shape: Shape, number: number): Promise<boolean> {
  const log = await shape.openStoredLog();
  try {
    const ids = { command_id: randomUUID(), causation_id: 'torture' };
    const metadata = { ...ids, actor: 'process:torture', at: new Date().toISOString(), version: 99 };
    const event = { id: randomUUID(), type: 'GrowthNoteAdded', data: { renamed: number }, metadata };
    return (await log.append(`growth_note-later-${number}`, 'no_stream', [event])).ok;
  } finally {
    await log.close();
  }
}

function fullDisk({ shape, random }: World): Fault {
  const disk = shape.disk!;
  return {
    kind: 'a full disk',
    weight: 2,
    is_alone: true,
    back_ms: STORE_BACK_MS,
    async run({ is_long, tells }) {
      await disk.fill();
      tells({ check: 'disk', alert: 'ServiceNotReady' });
      await sleep(is_long ? 10_000 : random.between(1000, 6000));
      await disk.empty();
    },
  };
}

/** Each commit waits, as where a disk takes long to write: another connection holds the write lock of a file most of the time. */
function slowDisk({ shape, random }: World): Fault {
  return {
    kind: 'a slow disk',
    weight: 2,
    back_ms: STORE_BACK_MS,
    async run({ is_long }) {
      const until = performance.now() + (is_long ? 10_000 : random.between(1000, 8000));
      const file = random.pick(['events.db', 'documents.db', 'queue.db']);
      const db = new DatabaseSync(join(shape.data_dir, file), { timeout: 0 });
      try {
        while (performance.now() < until) {
          try {
            db.exec('BEGIN IMMEDIATE');
            await sleep(random.between(50, 400));
            db.exec('ROLLBACK');
          } catch {} // the service writes
          await sleep(random.between(5, 50));
        }
      } finally {
        db.close();
      }
    },
  };
}

function ofServers(world: World): Fault[] {
  const { random } = world;
  const { servers } = world.shape;
  const nodes = servers.flatMap((server) => server.nodes);
  const durable = servers.filter(({ is_durable }) => is_durable).flatMap((server) => server.nodes);
  const away_ms = (is_long: boolean) =>
    is_long || random.chance(0.2) ? random.between(12_000, 20_000) : random.between(200, 5000);
  const back_ms = STORE_BACK_MS;
  return [
    {
      kind: 'a server cut off',
      weight: 4,
      back_ms,
      run: ({ is_long, strikes, tells }) =>
        troubling(world, servers, async (server) => {
          strikes(server.name);
          await Promise.all(server.roads.map((road) => road.cut()));
          tells(awayOf(server));
          await sleep(away_ms(is_long));
          await Promise.all(server.roads.map((road) => road.open()));
        }),
    },
    {
      kind: 'dropped packets of a server',
      weight: 3,
      back_ms,
      run: ({ is_long, strikes, tells }) =>
        troubling(world, servers, async (server) => {
          strikes(server.name);
          for (const road of server.roads) road.hold(['to', 'from']);
          tells(awayOf(server));
          await sleep(away_ms(is_long));
          for (const road of server.roads) road.release();
        }),
    },
    {
      kind: 'kill -9 of a server',
      weight: 2,
      back_ms,
      run: ({ strikes }) =>
        troubling(world, durable, ({ of, program }) => {
          strikes(of);
          return program.kill(random.between(0, 3000));
        }),
    },
    {
      kind: 'SIGSTOP of a server',
      weight: 2,
      back_ms,
      run: ({ strikes }) =>
        troubling(world, nodes, ({ of, program }) => {
          strikes(of);
          return program.freeze(random.between(500, 12_000));
        }),
    },
    {
      kind: 'a slow server',
      weight: 2,
      back_ms,
      run: ({ is_long, strikes }) =>
        troubling(world, nodes, async ({ of, program }) => {
          strikes(of);
          const until = performance.now() + (is_long ? 10_000 : random.between(1000, 8000));
          while (performance.now() < until) {
            await program.freeze(random.between(50, 300));
            await sleep(random.between(5, 50));
          }
        }),
    },
  ];
}

/** One process and one server, which no longer hear of each other, in one direction or both. */
function ofRoads(world: World): Fault[] {
  const { random, shape } = world;
  const ways: readonly (readonly Direction[])[] = [['to'], ['from'], ['to', 'from']];
  const roads = shape.servers.flatMap(({ name, roads }) => roads.map((road) => ({ name, road })));
  const lasts = (is_long: boolean) => sleep(is_long || random.chance(0.3) ? 15_000 : random.between(200, 5000));
  return [
    {
      kind: 'a role cut from a store',
      weight: 5,
      back_ms: PROCESS_BACK_MS,
      run: ({ is_long, strikes }) =>
        troubling(world, roads, async ({ name, road }) => {
          strikes(name);
          const is_refused = random.chance(0.3);
          if (is_refused) await road.cut();
          else road.hold(random.pick(ways));
          await lasts(is_long);
          if (is_refused) await road.open();
          else road.release();
        }),
    },
    {
      kind: 'a moved name',
      weight: 2,
      back_ms: STORE_BACK_MS,
      run: ({ strikes }) =>
        troubling(world, roads, ({ name, road }) => {
          strikes(name);
          return shape.move(road);
        }),
    },
  ];
}

function ofEmptyStores(world: World): Fault[] {
  const { random, shape } = world;
  const named = (name: string) => shape.servers.filter((server) => server.name === name);
  return [
    {
      kind: 'an empty store of documents',
      weight: 1,
      is_alone: true,
      back_ms: PROCESS_BACK_MS,
      run: ({ strikes }) =>
        troubling(world, named('mongod'), ({ name }) => {
          strikes(name);
          return shape.emptyDocuments();
        }),
    },
    {
      kind: 'an empty queue',
      weight: 1,
      is_alone: true,
      back_ms: STORE_BACK_MS,
      run: ({ strikes }) =>
        troubling(world, named('nats-server'), ({ name }) => {
          strikes(name);
          return shape.emptyQueue(random.between(0, 3000));
        }),
    },
  ];
}
