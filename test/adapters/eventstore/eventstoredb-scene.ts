// A store over a small EventStoreDB server whose faults a test chooses.
import { EventEmitter } from 'node:events';
import type { ExecutionContext } from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import type { EventStore } from '../../../events/event-store.ts';
import type { newEvent } from '../../contracts/event-store/fixture.ts';
import {
  type EventStoreDbServer,
  startEventStoreDbServer,
} from '../../support/eventstoredb-server/eventstoredb-server.ts';

export interface Scene {
  server: EventStoreDbServer;
  store: EventStore;
  /** Emits 'trouble' for each failure after which the store retries, with the level of its line in the log. */
  seen: EventEmitter;
}

interface Setting {
  answer_timeout_ms?: number;
  unavailable_after_ms?: number;
  shared_commit?: boolean;
}

/** Opens a server and a store over it, and closes both after the test. */
export const scene =
  (setting: Setting, body: (t: ExecutionContext, scene: Scene) => Promise<void>) => async (t: ExecutionContext) => {
    const server = await startEventStoreDbServer({ shared_commit: setting.shared_commit });
    const seen = new EventEmitter();
    const tell = ({ err, level }: { err?: object; level: number }) => void (err && seen.emit('trouble', level));
    const store = await openEventStoreDb({
      url: server.url,
      log: pino({ level: 'debug' }, { write: (line) => tell(JSON.parse(line)) }),
      answer_timeout_ms: setting.answer_timeout_ms ?? 10_000,
      unavailable_after_ms: setting.unavailable_after_ms ?? 20_000,
      waits: { first_ms: 10, longest_ms: 200 },
    });
    try {
      await body(t, { server, store, seen });
    } finally {
      await store.close();
      await server.close();
    }
  };

/** The event as the server itself appends it, without the adapter. */
export const proposal = (event: ReturnType<typeof newEvent>) => ({
  id: event.id,
  type: event.type,
  content_type: 'application/json',
  data: Buffer.from(JSON.stringify(event.data)),
  metadata: Buffer.from(JSON.stringify(event.metadata)),
});
