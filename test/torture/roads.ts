// The ways of the processes to the servers: each process has one of its own to each node, under a name of its own, so that one
// process alone can be cut off, and a name can lead elsewhere.
import { writeFile } from 'node:fs/promises';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { ServerNode } from './servers.ts';

export interface Roads {
  /** The file with the names that the n-th process knows, and where they lead. */
  file(n: number): string;
  /** Name and port of the n-th process's way to the node. */
  at(node: string, n: number): string;
  of(node: string): readonly TcpProxy[];
  /** Lets the name of this way lead to another address, and with it all ways of its process under the same name. */
  move(road: TcpProxy): Promise<void>;
  close(): Promise<void>;
}

interface Way {
  node: string;
  n: number;
  name: string;
  road: TcpProxy;
}

/** All of 127.0.0.0/8 is this machine. */
const addressesOf = (n: number) => [`127.0.${n + 1}.1`, `127.0.${n + 1}.2`] as const;

/** `file`: the names of the n-th process are in `file-n`. */
export async function openRoads(
  nodes: readonly Pick<ServerNode, 'name' | 'port' | 'known_as'>[],
  processes: number,
  file: string,
): Promise<Roads> {
  const ways: Way[] = [];
  for (const { name, port, known_as } of nodes) {
    for (let n = 0; n < processes; n++) {
      const road = new TcpProxy({ host: '127.0.0.1', port });
      road.host = addressesOf(n)[0];
      // A member of a cluster is found by the port that it says.
      if (known_as !== null) road.port = port;
      await road.open();
      ways.push({ node: name, n, name: known_as ?? `${name}.torture`, road });
    }
  }
  const fileOf = (n: number) => `${file}-${n}`;
  const save = (n: number) => {
    const own = ways.filter((way) => way.n === n);
    return writeFile(fileOf(n), JSON.stringify(Object.fromEntries(own.map(({ name, road }) => [name, road.host]))));
  };
  for (let n = 0; n < processes; n++) await save(n);
  const wayTo = (node: string, of: number) => ways.find((way) => way.node === node && way.n === of)!;
  return {
    file: fileOf,
    at: (node, n) => `${wayTo(node, n).name}:${wayTo(node, n).road.port}`,
    of: (node) => ways.filter((way) => way.node === node).map(({ road }) => road),
    async move(moved) {
      const { n, name, road } = ways.find((way) => way.road === moved)!;
      const to = addressesOf(n).find((address) => address !== road.host)!;
      await Promise.all(ways.filter((way) => way.n === n && way.name === name).map((way) => way.road.moveTo(to)));
      await save(n);
    },
    async close() {
      for (const { road } of ways) await road.cut();
    },
  };
}
