// The event log with a span over each append.
import type { EventStore } from './event-store.ts';
import { categoryOf } from './streams.ts';
import { traced } from './tracing.ts';

export const withTraces = (log: EventStore): EventStore => ({
  append: (stream, expected, events) =>
    traced(
      () => ({
        name: `append ${categoryOf(stream)}`,
        attributes: {
          'event.count': events.length,
          'event.types': [...new Set(events.map(({ type }) => type))].join(),
        },
      }),
      async (span) => {
        const result = await log.append(stream, expected, events);
        span.set(result.ok ? { 'log.position': result.position } : { conflict: 1 });
        return result;
      },
    ),
  readStream: (stream, options) => log.readStream(stream, options),
  ...(log.lastId && { lastId: log.lastId.bind(log) }),
  ...(log.lastIdNow && { lastIdNow: log.lastIdNow.bind(log) }),
  readAll: (options) => log.readAll(options),
  subscribe: (options) => log.subscribe(options),
  head: () => log.head(),
  ...(log.size && { size: log.size.bind(log) }),
  deleteStream: (stream) => log.deleteStream(stream),
  close: () => log.close(),
});
