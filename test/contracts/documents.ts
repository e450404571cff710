// The promises of the `Documents` port (`readmodels/documents.ts`), as sentences. An adapter's test enrols with one
// line: `documentsContract(test, 'documents in SQLite', fixture)`.
import type { TestFn } from 'ava';
import { declaring } from './documents/declaring.ts';
import { filtering } from './documents/filtering.ts';
import { type Fixture, sentences } from './documents/fixture.ts';
import { paging } from './documents/paging.ts';
import { refusing } from './documents/refusing.ts';
import { transacting } from './documents/transacting.ts';
import { updating } from './documents/updating.ts';
import { writing } from './documents/writing.ts';

export type { Fixture, Opened } from './documents/fixture.ts';

/** Runs the whole suite; every test opens a store of its own. */
export function documentsContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);
  filtering(sentence);
  refusing(sentence);
  paging(sentence);
  writing(sentence);
  updating(sentence);
  transacting(sentence);
  declaring(sentence);
}
