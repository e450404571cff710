// What every adapter of the queue (`checkers/queue.ts`) promises, as sentences. An adapter's test enrols with one line:
// `queueContract('SQLite', traits, fixture)`.
import test from 'ava';
import { broadcasting } from './queue/broadcasting.ts';
import { delivering } from './queue/delivering.ts';
import { loading } from './queue/loading.ts';
import { publishing } from './queue/publishing.ts';
import { restarting } from './queue/restarting.ts';
import { waiting } from './queue/waiting.ts';
import { type QueueFixture, type QueueTraits, type Sentence, World } from './queue/world.ts';

export type { QueueFixture, QueueTraits } from './queue/world.ts';

export function queueContract(name: string, traits: QueueTraits, start: () => Promise<QueueFixture>): void {
  // Serial, because several tests measure time.
  const sentence: Sentence = (title, run) =>
    test.serial(`${name}: ${title}`, async (t) => {
      const world = new World(await start());
      t.teardown(() => world.end());
      await run(t, world);
    });
  publishing(sentence, traits);
  delivering(sentence);
  waiting(sentence);
  broadcasting(sentence);
  loading(sentence);
  if (traits.restart === 'none') console.log(`${name}: left out, for its server is not ours to restart: restarts`);
  else restarting(sentence, traits);
}
