// The fixture that an adapter gives to the contract suite of documents, and the parts that each test gets.
import type { ExecutionContext, TestFn } from 'ava';
import type { CollectionSpec, Document, Documents } from '../../../readmodels/documents.ts';

export interface Opened {
  documents: Documents;
  /** Opens another instance over the same data. The suite may have closed `documents` before. */
  reopen(): Promise<Documents>;
  /** Closes every open instance and removes the data. The suite may have closed some. */
  close(): Promise<void>;
}

export interface Fixture {
  /** Opens an empty store for one test. */
  open(): Promise<Opened>;
}

export type Sentence = (sentence: string, body: (t: ExecutionContext, opened: Opened) => Promise<void>) => void;

/** Makes tests that open a store, run, and always close it. */
export function sentences(test: TestFn, name: string, fixture: Fixture): Sentence {
  return (sentence, body) => {
    test(`${name}: ${sentence}`, async (t) => {
      const opened = await fixture.open();
      try {
        await body(t, opened);
      } finally {
        await opened.close();
      }
    });
  };
}

export interface Thing extends Document {
  [name: string]: unknown;
}

/** The suite also stores scalars of undeclared types in these fields, on which the adapters must agree. */
export const THINGS = {
  name: 'things',
  fields: { text: 'string', n: 'number', flag: 'boolean', 'deep.x': 'number', group: 'string' },
  indexes: [
    { fields: { group: 1, n: 1 } },
    { fields: { text: -1 } },
    { fields: { group: 1, n: -1, text: 1, flag: 1 } },
  ],
} as const satisfies CollectionSpec<Thing>;

export const ids = (documents: readonly Document[]): string[] => documents.map((document) => document._id);

/** `count` documents `d00000`, `d00001`, …, written a thousand at a time. */
export async function fill(
  documents: Documents,
  count: number,
  make: (n: number) => Omit<Thing, '_id'>,
): Promise<void> {
  const things = await documents.collection<Thing>(THINGS);
  for (let first = 0; first < count; first += 1_000) {
    const length = Math.min(1_000, count - first);
    await things.write(
      Array.from({ length }, (_, place) => ({ insert: { _id: idOf(first + place), ...make(first + place) } })),
    );
  }
}

export const idOf = (n: number): string => `d${String(n).padStart(5, '0')}`;
