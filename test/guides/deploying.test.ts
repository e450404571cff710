import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

testWith(
  'bash',
  'curl',
  'grep',
)('roles run as often as the guide of deploying says, one working and one standing by', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-deploying-'));
  const METRICS_PORT = String(await freePort());
  const running: ServiceProcess[] = [];
  try {
    const processes = ['http', 'projector,processes', 'projector,processes', 'checker'];
    running.push(
      ...(await Promise.all(
        processes.map((ROLES) => startServiceProcess({ ROLES, DATA_DIR, ...(ROLES === 'http' && { METRICS_PORT }) })),
      )),
    );
    const metrics = async () => (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
    await until(async () => isComplete(await metrics()));
    t.is(
      await runGuide('docs/guides/deploying.md', { replace: { '127.0.0.1:9464': `127.0.0.1:${METRICS_PORT}` } }),
      null,
    );
  } finally {
    await Promise.all(running.map((service) => service.kill()));
    await rm(DATA_DIR, { recursive: true, force: true });
  }
});

/** Each process has given its first heartbeats. */
const isComplete = (metrics: string): boolean =>
  ['projector', 'processes'].every((role) =>
    ['working', 'standing_by'].every((state) =>
      metrics.includes(`service_roles_alive{role="${role}",state="${state}"} 1`),
    ),
  ) && metrics.includes('service_roles_alive{role="checker",state="working"} 1');
