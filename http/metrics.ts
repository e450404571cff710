// What is measured of requests, for Prometheus. Other roles add their own to the same registry.
import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Registry,
} from 'prom-client';

type Measured = Pick<CounterConfiguration<string>, 'name' | 'help'>;

/** A gauge without labels, whose value is read when the metrics are asked for. */
export function openGauge(registry: Registry, measured: Measured, read: () => number): void {
  const collect = () => gauge.set(read());
  const gauge: Gauge = new Gauge({ ...measured, registers: [registry], collect });
}

/** A counter without labels, whose total is read when the metrics are asked for. */
export function openCounter(registry: Registry, measured: Measured, read: () => number): void {
  const collect = () => {
    counter.reset();
    counter.inc(read());
  };
  const counter: Counter = new Counter({ ...measured, registers: [registry], collect });
}

export interface HttpMetrics {
  started(): void;
  /** `route` is the pattern and not the path, of which there are too many. */
  finished(request: { method: string; route: string; status: number; duration_ms: number }): void;
  /** Streams that last, more or fewer by so many. They are no requests in flight. */
  lasting(more: 1 | -1): void;
}

export function openHttpMetrics(registry: Registry): HttpMetrics {
  if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Requests by route and status, and how long they took.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const in_flight = new Gauge({
    name: 'http_requests_in_flight',
    help: 'Requests that are being answered.',
    registers: [registry],
  });
  const lasting = new Gauge({
    name: 'http_lasting_streams',
    help: 'Streams that go on for as long as their clients listen, such as those of events.',
    registers: [registry],
  });
  return {
    started: () => in_flight.inc(),
    finished({ method, route, status, duration_ms }) {
      in_flight.dec();
      durations.observe({ method, route, status }, duration_ms / 1000);
    },
    lasting: (more) => lasting.inc(more),
  };
}

/** `replaced`: how many of the checker's threads were, so far. */
export function openThreadMetrics(registry: Registry, replaced: () => number): void {
  const help = "Threads of this process's checker that hung or ended by a fault, and were replaced.";
  openCounter(registry, { name: 'checker_threads_replaced_total', help }, replaced);
}

/** How each projection stands, asked when the metrics are: one of which something was parked does not show everything. */
export function openProjectionMetrics(
  registry: Registry,
  projections: () => Promise<readonly { _id: string; parked: number; next: object | null }[]>,
): void {
  const labelNames = ['projection'] as const;
  // Those of stores that have been opened anew since.
  for (const name of ['projection_building', 'projection_parked_events']) registry.removeSingleMetric(name);
  const building = new Gauge({
    name: 'projection_building',
    help: 'Whether the projection is being built anew: 1 or 0.',
    labelNames,
    registers: [registry],
  });
  new Gauge({
    name: 'projection_parked_events',
    help: 'Events that the projection could not take and that its read model is made without, until it is rebuilt.',
    labelNames,
    registers: [registry],
    async collect() {
      // While the documents are away there is nothing to tell, and readiness tells that.
      for (const { _id, parked, next } of await projections().catch(() => [])) {
        this.set({ projection: _id }, parked);
        building.set({ projection: _id }, next === null ? 0 : 1);
      }
    },
  });
}
