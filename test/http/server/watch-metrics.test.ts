// The metrics of the whole service: scrapes share their reads, stores that are away leave gaps, and no client chooses a label.
import test from 'ava';
import { Registry } from 'prom-client';
import type { Followers } from '../../../http/server/followers.ts';
import { openWatchMetrics } from '../../../http/server/watch-metrics.ts';
import type { RoleWatch } from '../../../roles/role-signs.ts';
import { startTestService } from '../../support/service.ts';

const found: Followers = {
  head: '0000000000000042',
  followers: [
    {
      ...{ follower: 'live', projection: 'jobs', version: 1, state: 'live', position: '0000000000000040' },
      ...{ parked_events: 3, lag_events: 1, lag_ms: 1500 },
    },
  ],
};
const nobody: RoleWatch = { look: async () => {}, alive: () => [], all: () => [], clocks_apart_ms: () => 0 };

test('a hundred scrapes at once read the stores once, and the next second once more', async (t) => {
  const registry = new Registry();
  const at = { ms: 0 };
  let reads = 0;
  openWatchMetrics(registry, {
    followers: async () => {
      reads += 1;
      return found;
    },
    backups: { find: async () => [] },
    roles: nobody,
    stores: () => [],
    log_size: async () => ({ bytes: 7, events: null, limit_bytes: 9 }),
    monotonic: () => at.ms,
  });
  const texts = await Promise.all(Array.from({ length: 100 }, () => registry.metrics()));
  t.is(reads, 1);
  t.is(new Set(texts).size, 1);
  t.regex(texts[0]!, /^log_position 42$/m);
  t.regex(texts[0]!, /^projection_lag_seconds\{projection="jobs",state="live"\} 1\.5$/m);
  t.regex(texts[0]!, /^projection_parked_events\{projection="jobs",state="live"\} 3$/m);
  t.regex(texts[0]!, /^backup_started_timestamp_seconds\{status="completed"\} 0$/m);
  t.regex(texts[0]!, /^event_log_bytes 7$/m);
  t.regex(texts[0]!, /^event_log_limit_bytes 9$/m);
  t.notRegex(texts[0]!, /^event_log_events/m);
  at.ms += 1_000;
  await registry.metrics();
  t.is(reads, 2);
});

test('while the stores are away their metrics have no values, and the others do', async (t) => {
  const registry = new Registry();
  const away = () => Promise.reject(new Error('away'));
  openWatchMetrics(registry, {
    followers: away,
    backups: { find: away },
    roles: nobody,
    stores: () => [{ name: 'event_log', kind: 'sqlite', status: 'away', latency_ms: null, for_ms: 1 }],
  });
  const text = await registry.metrics();
  t.notRegex(text, /^(log_position|projection_\w+|backup_\w+|queue_messages|dispatched_\w+|ledger_\w+)[ {]/m);
  t.regex(text, /^service_dependency_up\{dependency="event_log"\} 0$/m);
});

test('what http uses is told as what the other roles use, and lost work and ends of certificates are', async (t) => {
  const registry = new Registry();
  const state = { kind: 's3', latency_ms: 1, for_ms: 1 };
  const sign = {
    ...{ state: 'working', machine: 'm', count: 1, reason: null, queue_answers: null },
    certificates: [{ of: 'documents', ends_at: '2026-02-10T00:00:00.000Z' }],
    disk: { free_bytes: 1, size_bytes: 2, hours_left: 5.5 },
  };
  const roles: Record<string, object[]> = {
    http: [{ ...sign, role: 'http', dependencies: [{ ...state, name: 'files', status: 'away' }] }],
    processes: [
      {
        ...sign,
        role: 'processes',
        work: { queue_depth: 0, jobs: 0, batches: 0, urls: 0, oldest: null, lost: { waiting: 1, batches: 4 } },
      },
    ],
  };
  openWatchMetrics(registry, {
    followers: async () => found,
    backups: { find: async () => [] },
    rehearsals: { find: async () => [{ _id: 'b', rehearsed_at: '1970-01-01T00:01:00.000Z' } as never] },
    roles: { ...nobody, alive: (role: string) => (roles[role] ?? []) as never },
    stores: () => [],
    now: () => Date.parse('2026-02-01T00:00:00.000Z'),
  });
  const text = await registry.metrics();
  t.regex(text, /^service_dependency_up\{dependency="files"\} 0$/m);
  t.regex(text, /^dispatched_lost_batches_total 4$/m);
  t.regex(text, /^certificate_days_left\{of="documents"\} 9$/m);
  t.regex(text, /^disk_hours_left\{role="processes",machine="m"\} 5.5$/m);
  t.regex(text, /^backup_rehearsed_timestamp_seconds 60$/m);
});

test('positions of EventStoreDB are the commit position', async (t) => {
  const registry = new Registry();
  const head = (4096).toString(16).padStart(16, '0').repeat(2);
  openWatchMetrics(registry, {
    followers: async () => ({ head, followers: [] }),
    backups: { find: async () => [] },
    roles: nobody,
    stores: () => [],
  });
  t.regex(await registry.metrics(), /^log_position 4096$/m);
});

test('no client chooses a label, and a scrape costs no more after hostile requests', async (t) => {
  const service = await startTestService();
  t.teardown(() => service.stop());
  const scrape = async () => (await fetch(`${service.url}/metrics`)).text();
  const seriesOfHttp = (text: string) => text.split('\n').filter((line) => line.startsWith('http_')).length;
  const paths = [
    '"}\nservice_ready 0',
    '%22%7D%0Ax 1',
    '../../etc',
    'jobs/"',
    'a'.repeat(4_000),
    '%F0%9F%92%A9',
    'jobs/1e9',
  ];
  const attack = async (from: number) => {
    const paths_of_all = Array.from({ length: 200 }, (_, n) => `${encodeURI(paths[n % paths.length]!)}${from + n}`);
    await Promise.all(paths_of_all.map((path) => fetch(`${service.url}/${path}`)));
    for (const method of ['PROPFIND', 'PURGE', 'SEARCH']) await fetch(`${service.url}/nowhere${from}`, { method });
    return scrape();
  };
  await scrape(); // the first one adds its own route to the next
  const before = seriesOfHttp(await attack(0));
  const text = await attack(1_000);
  const routes = new Set([...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route!));
  t.true([...routes].every((route) => route === '(none)' || route.startsWith('/')));
  t.notRegex(text, /etc|1e9|aaaa|%22/);
  const methods = new Set([...text.matchAll(/method="([^"]*)"/g)].map(([, method]) => method!));
  t.deepEqual(
    [...methods].filter((method) => !['GET', 'POST', 'HEAD', '(other)'].includes(method)),
    [],
  );
  t.is(seriesOfHttp(text), before);
});
