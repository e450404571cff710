// The promises of the `EventStore` port (`events/event-store.ts`), as sentences. An adapter's test enrols with one
// line: `eventStoreContract(test, 'the SQLite event log', fixture)`.
import type { TestFn } from 'ava';
import { appending } from './event-store/appending.ts';
import { deleting } from './event-store/deleting.ts';
import { type Fixture, sentences } from './event-store/fixture.ts';
import { racing } from './event-store/racing.ts';
import { reading } from './event-store/reading.ts';
import { subscribing } from './event-store/subscribing.ts';

export type { Fixture, Opened } from './event-store/fixture.ts';

/**
 * Runs the whole suite against the stores that the fixture opens. Every test opens its own store and uses its own streams
 * and categories, so that the suite also runs against a server that others write to.
 */
export function eventStoreContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);
  appending(sentence);
  racing(sentence);
  reading(sentence);
  subscribing(sentence);
  deleting(sentence, fixture);
}
