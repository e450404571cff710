// The collection that the tests of a shared file and their program both write.
import type { CollectionSpec, Document } from '../../../readmodels/documents.ts';

export interface Counter extends Document {
  n: number;
  batch?: number;
}

export const COUNTERS: CollectionSpec<Counter> = {
  name: 'counters',
  fields: { n: 'number', batch: 'number' },
  indexes: [{ fields: { batch: 1, n: 1 } }],
  identity: ['batch', 'n'],
};

export const BATCH = 100;
