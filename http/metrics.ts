// What is measured of requests, for Prometheus. Other roles add their own to the same registry.
import { collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';

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
