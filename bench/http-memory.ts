// What the service keeps in memory after its largest reads: a part of `bench/http.ts`.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Asking, readsOf, readTarget } from './http-rows.ts';
import { rssMb } from './process-cpu.ts';
import { attack } from './vegeta.ts';

export interface MemoryRow {
  name: string;
  /** The resident memory of the whole service before the load, at its end, and a minute later. */
  before_mb: number;
  end_mb: number;
  later_mb: number;
}

const LATER_MS = 60_000;
const LOAD_S = 12;
const EXPORTS = 6;
const SLOW_READERS = 200;

/** Runs each load, and looks again a minute after it. */
export async function benchMemory(pid: number, asking: Asking, tell: (row: MemoryRow) => void): Promise<void> {
  const loads: Readonly<Record<string, () => Promise<unknown>>> = {
    [`filter-options, 32 at once for ${LOAD_S} s`]: () => askFilterOptions(asking),
    [`${EXPORTS} exports at once`]: () => Promise.all(Array.from({ length: EXPORTS }, () => readExport(asking))),
    [`${SLOW_READERS} readers of exports that read nothing`]: () => leaveExports(asking),
  };
  for (const [name, load] of Object.entries(loads)) {
    const before_mb = rssMb(pid);
    await load();
    const end_mb = rssMb(pid);
    await pause(LATER_MS);
    tell({ name, before_mb, end_mb, later_mb: rssMb(pid) });
  }
}

const askFilterOptions = (asking: Asking) =>
  attack([readTarget(asking.url, readsOf(asking)['filter-options']!, asking.users[0]!)], {
    ...{ seconds: LOAD_S, workers: 32 },
  });

const exportOf = ({ job_id, users: [user] }: Asking) => ({
  path: `/jobs/${job_id}/export`,
  headers: { authorization: `Bearer ${user!.token}` },
});

async function readExport(asking: Asking): Promise<void> {
  const { path, headers } = exportOf(asking);
  const answer = await fetch(asking.url + path, { headers });
  if (!answer.ok) throw new Error(`the export was answered ${answer.status}`);
  for await (const _ of answer.body!);
}

/** The sockets of clients that ask, take what the system takes for them, and leave after the time. */
async function leaveExports(asking: Asking): Promise<void> {
  const { hostname, port } = new URL(asking.url);
  const { path, headers } = exportOf(asking);
  const sockets = Array.from({ length: SLOW_READERS }, () => connect({ host: hostname, port: Number(port) }));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) {
    socket.on('error', () => {}).pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${headers.authorization}\r\n\r\n`);
  }
  await pause(LOAD_S * 1000);
  for (const socket of sockets) socket.destroy();
}

export const memoryTable = (rows: readonly MemoryRow[]): string =>
  [
    '| | MB before | at the end | a minute later |',
    '|---|---|---|---|',
    ...rows.map(
      ({ name, ...mb }) =>
        `| ${[name, ...[mb.before_mb, mb.end_mb, mb.later_mb].map((one) => one.toFixed(0))].join(' | ')} |`,
    ),
  ].join('\n');
