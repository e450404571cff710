// The ways of the processes to the servers: each process has one of its own to each server, under a name of its own, so that one
// process alone can be cut off, and a name can lead elsewhere.
import { writeFile } from 'node:fs/promises';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { TorturedServer } from './servers.ts';

/** The other address of a name; all of 127.0.0.0/8 is this machine. */
const ADDRESSES = ['127.0.0.1', '127.0.1.1'] as const;

export interface Roads {
  file: string;
  /** Name and port of the n-th process's way to the server. */
  at(server: string, n: number): string;
  of(server: string): readonly TcpProxy[];
  move(road: TcpProxy): Promise<void>;
  close(): Promise<void>;
}

export async function openRoads(servers: readonly TorturedServer[], processes: number, file: string): Promise<Roads> {
  const roads = new Map<string, TcpProxy>();
  const nameOf = (server: string, n: number) => `${server}-${n}.torture`;
  for (const { name, port } of servers) {
    for (let n = 0; n < processes; n++) {
      const road = new TcpProxy({ host: '127.0.0.1', port });
      await road.open();
      roads.set(nameOf(name, n), road);
    }
  }
  const save = () =>
    writeFile(file, JSON.stringify(Object.fromEntries([...roads].map(([name, { host }]) => [name, host]))));
  await save();
  return {
    file,
    at: (server, n) => `${nameOf(server, n)}:${roads.get(nameOf(server, n))!.port}`,
    of: (server) => Array.from({ length: processes }, (_, n) => roads.get(nameOf(server, n))!),
    async move(road) {
      await road.moveTo(ADDRESSES.find((address) => address !== road.host)!);
      await save();
    },
    async close() {
      for (const road of roads.values()) await road.cut();
    },
  };
}
