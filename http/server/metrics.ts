// Prometheus metrics of requests, projections and checker threads. Other roles add theirs to the same registry.
import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Registry,
} from 'prom-client';

type Measured = Pick<CounterConfiguration<string>, 'name' | 'help'>;

/**
 * Registers a gauge without labels. It calls `read` each time that Prometheus scrapes the metrics.
 * @example openGauge(registry, { name: 'http_connections', help: 'Open connections.' }, () => sockets.size);
 */
export function openGauge(registry: Registry, measured: Measured, read: () => number): void {
  const collect = () => gauge.set(read());
  const gauge: Gauge = new Gauge({ ...measured, registers: [registry], collect });
}

/** Registers a counter without labels. It calls `read`, which returns the total, each time that Prometheus scrapes the metrics. */
export function openCounter(registry: Registry, measured: Measured, read: () => number): void {
  const collect = () => {
    counter.reset();
    counter.inc(read());
  };
  const counter: Counter = new Counter({ ...measured, registers: [registry], collect });
}

export function openHttpMetrics(registry: Registry) {
  if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests by route and status.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const in_flight = new Gauge({
    name: 'http_requests_in_flight',
    help: 'Requests without a complete answer.',
    registers: [registry],
  });
  const open_streams = new Gauge({
    name: 'http_lasting_streams',
    help: 'Open streams of server-sent events.',
    registers: [registry],
  });
  return {
    started: () => in_flight.inc(),
    /** `route` is the path pattern, because each distinct path would be a time series of its own. */
    finished(request: { method: string; route: string; status: number; duration_ms: number }): void {
      const { duration_ms, ...labels } = request;
      in_flight.dec();
      durations.observe(labels, duration_ms / 1000);
    },
    /** Adds to the number of open event streams. An open stream does not count as a request in flight. */
    openStreams: (delta: 1 | -1) => open_streams.inc(delta),
  };
}

/** `replaced` returns the number of checker threads that the service has replaced since its start. */
export function openThreadMetrics(registry: Registry, replaced: () => number): void {
  const help = 'Checker threads of this process that the service replaced because they hung or crashed.';
  openCounter(registry, { name: 'checker_threads_replaced_total', help }, replaced);
}

/** Registers the state of each projection, read at each scrape. A read model with parked events is incomplete. */
export function openProjectionMetrics(
  registry: Registry,
  projections: () => Promise<readonly { _id: string; parked: number; next: object | null }[]>,
): void {
  const labelNames = ['projection'] as const;
  // A process that reopened its stores has registered these before.
  for (const name of ['projection_building', 'projection_parked_events']) registry.removeSingleMetric(name);
  const building = new Gauge({
    name: 'projection_building',
    help: '1 while the projector rebuilds the projection, otherwise 0.',
    labelNames,
    registers: [registry],
  });
  new Gauge({
    name: 'projection_parked_events',
    help: 'Events that the projection could not apply. Its read model lacks them until a rebuild.',
    labelNames,
    registers: [registry],
    async collect() {
      // While the document store is away there are no values, and /readyz reports the outage.
      for (const { _id, parked, next } of await projections().catch(() => [])) {
        this.set({ projection: _id }, parked);
        building.set({ projection: _id }, next === null ? 0 : 1);
      }
    },
  });
}
