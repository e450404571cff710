// What administrators read in `bench/event-loop.ts`: the worker log, the list of users and the pool of proxies, each as large as it gets.
// The events are applied to the documents and are not in the log.
import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '../events/event-store.ts';
import { MAX_PROXIES } from '../events/proxy-list.ts';
import { proxiesProjection } from '../projections/operations/proxies.ts';
import { workerLogProjection } from '../projections/operations/worker-log.ts';
import type { Projection } from '../projections/projection.ts';
import { userListProjection } from '../projections/users/user-list.ts';
import type { CollectionSpec, Document, Documents } from '../readmodels/documents.ts';
import { MAX_TROUBLED_DOMAINS } from '../readmodels/operations/proxies.ts';
import { workerLogLimits } from '../readmodels/operations/worker-log.ts';
import { eventsOf } from './admin.ts';
import { lots, URLS, urlAt } from './event-loop-urls.ts';
import { checkedEvent } from './worker-log-events.ts';

const USERS = 100_000;
const A_RANGE = 100;
const A_TRANSACTION = 50;
const DOMAINS_A_REPORT = 100;
/** As long as a URL may be, and as many as an event holds. */
export const LATE_URL = 'https://www.example.com/'.padEnd(2000, 'x');
export const LATE_A_CHUNK = 450;
export const LATE_URLS = 100 * LATE_A_CHUNK;
/** More than a page of the worker log has. */
const LATE = 300;
const LIMITS = workerLogLimits({ worker_log_entries: 1_000_000, worker_log_days: 30 });

type Live = <T extends Document>(spec: CollectionSpec<T>) => CollectionSpec<T>;
interface Ids {
  job_id: string;
  late_id: string;
  proxy_id: string;
}

export async function fillAdministration(documents: Documents, live: Live, { job_id, late_id, proxy_id }: Ids) {
  const apply = async (projection: Projection, events: readonly RecordedEvent[], urls: readonly string[][] = []) => {
    const urls_of = new Map(events.map(({ id }, n) => [id, urls[n] ?? []]));
    for (let from = 0; from < events.length; from += A_TRANSACTION) {
      const some = events.slice(from, from + A_TRANSACTION);
      await documents.transaction((inside) =>
        projection.apply(
          some,
          (spec) => inside.collection(live(spec)),
          ({ id }) => ({ urls: urls_of.get(id)!, rows: [] }),
        ),
      );
    }
  };
  const at_ms = Date.now() - 86_400_000;
  for (let from = 0; from < URLS; from += A_RANGE * A_TRANSACTION) {
    const urls = lots(A_TRANSACTION, (n) => lots(A_RANGE, (k) => urlAt(from + n * A_RANGE + k)));
    const events = urls.map((of, n) => {
      const from_index = from + n * A_RANGE;
      return checkedEvent(from_index, { job_id, from_index, urls: of, at_ms: at_ms + from_index });
    });
    await apply(workerLogProjection(LIMITS), events, urls);
  }
  // Neighbours in the log are far apart in the listing.
  const late = lots(LATE, (n) => (n * (LATE_A_CHUNK + 1)) % LATE_URLS);
  const late_urls = late.map(() => [LATE_URL]);
  const late_events = late.map((from_index, n) =>
    checkedEvent(URLS + n, { job_id: late_id, from_index, urls: [LATE_URL], at_ms: at_ms + URLS + n }),
  );
  await apply(workerLogProjection(LIMITS), late_events, late_urls);
  const users = lots(USERS, (n) => eventsOf(n, USERS)).flat();
  const { types } = userListProjection;
  await apply(
    userListProjection,
    users.filter(({ type }) => types.includes(type)),
  );
  await apply(proxiesProjection, proxyEvents(proxy_id));
}

/** A full list, and one of its proxies with as many troubled domains as are kept. */
function proxyEvents(proxy_id: string): RecordedEvent[] {
  const at = new Date().toISOString();
  const event = (n: number, type: string, data: object) =>
    ({
      id: `proxy/${n}`,
      type,
      stream: '',
      revision: n,
      position: '',
      data,
      metadata: { at },
    }) as unknown as RecordedEvent;
  const listed = lots(MAX_PROXIES, (n) => ({
    ...{ proxy_id: n === 0 ? proxy_id : randomUUID(), address: `http://proxy-${n}.example:8080` },
  }));
  const observed = lots(MAX_TROUBLED_DOMAINS / DOMAINS_A_REPORT, (n) => ({
    ...{ proxy_id, address: listed[0]!.address, observer: randomUUID(), interval: n, from: at, until: at },
    status: 'healthy',
    requests: 200,
    answered: 100,
    blocked: 100,
    timed_out: 0,
    failed: 0,
    response_time_ms: 900,
    domains: lots(DOMAINS_A_REPORT, (k) => ({
      ...{ domain: `${'troubled-'.repeat(20)}${n * DOMAINS_A_REPORT + k}.example`, blocked: 1, failed: 0, answered: 1 },
    })),
  }));
  return [
    event(0, 'ProxyListRefreshed', { proxies: listed, skipped: 0, trigger: 'request' }),
    ...observed.map((data, n) => event(n + 1, 'ProxyObserved', data)),
  ];
}
