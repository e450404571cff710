// What can go wrong with a cluster alone: its leader changes, ends or falls silent, or a node comes back without its data. The service
// goes on beside the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, type Run, STORE_BACK_MS, troubling, type World } from './fault.ts';
import { emptied } from './leaders.ts';
import type { ServerNode } from './servers.ts';

/** MongoDB elects a primary after so long without the old one. */
const ELECTION_MS = 10_000;
/** Past every election. */
const AWAY_MS = 25_000;

export function ofClusters(world: World): Fault[] {
  const { random, shape } = world;
  const clusters = shape.servers.filter(({ nodes }) => nodes.length > 1);
  if (clusters.length === 0) return [];
  const back_ms = STORE_BACK_MS;
  /** The node that was the leader stays away while the others go on: what is measured begins when it goes. */
  const leaving = (leave: (leader: ServerNode) => Promise<void>) => (run: Run) =>
    troubling(world, clusters, async (cluster) => {
      const leader = await shape.leaderOf(cluster).catch(() => null);
      if (leader === null) return;
      run.strikes(cluster.name);
      leave(leader).catch(() => {});
      await sleep(100);
    });
  return [
    {
      kind: 'a new leader',
      weight: 2,
      back_ms,
      run: ({ strikes }) =>
        troubling(world, clusters, async (cluster) => {
          await shape.stepDown(cluster).then(
            () => strikes(cluster.name),
            () => {},
          );
        }),
    },
    {
      kind: 'a lost leader',
      weight: 1,
      back_ms: back_ms + ELECTION_MS,
      run: leaving(({ program }) => program.kill(AWAY_MS)),
    },
    {
      kind: 'a silent leader',
      weight: 1,
      back_ms: back_ms + ELECTION_MS,
      run: leaving(({ program }) => program.freeze(AWAY_MS)),
    },
    {
      kind: 'a node that lost its data',
      weight: 1,
      is_alone: true,
      back_ms,
      run: ({ strikes }) =>
        troubling(world, clusters, ({ name, nodes }) => {
          strikes(name);
          const { program, store } = random.pick(nodes);
          return program.kill(random.between(0, 3000), () => emptied(store!));
        }),
    },
  ];
}
