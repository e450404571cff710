// The declared index from which the store reads a query.
import test from 'ava';
import { checkFilter, checkQuery } from '../../../adapters/documents/query.ts';
import { checkSpec } from '../../../adapters/documents/spec.ts';
import { indexForCount, indexForPage, isSeek } from '../../../adapters/documents/sqlite/index-choice.ts';
import type { CollectionSpec, Document, Filter, Sort } from '../../../readmodels/documents.ts';

const RESULTS: CollectionSpec<Document> = {
  name: 'results',
  fields: { job_id: 'string', index: 'number', status_code: 'number', url: 'string' },
  identity: ['job_id', 'index'],
  indexes: [
    { fields: { job_id: 1, index: 1 } },
    { fields: { job_id: 1, index: 1, status_code: 1, url: 1 } },
    { fields: { job_id: 1, status_code: 1, index: 1 } },
  ],
};
const spec = checkSpec(RESULTS);
const [IN_ORDER, WITH_ALL, BY_STATUS] = spec.indexes;

const page = (filter: Filter, sort: Sort) => indexForPage(spec, checkQuery(spec, filter, { sort }));
const count = (filter: Filter) => indexForCount(spec, checkFilter(spec, filter));

test('the store reads a page from the shortest index that has its order and its filtered fields', (t) => {
  t.is(page({ job_id: 'a' }, { index: 1 }), IN_ORDER!);
  t.is(page({ job_id: 'a' }, { index: -1 }), IN_ORDER!);
  t.is(page({ job_id: 'a', url: { $contains: 'x' } }, { index: 1 }), WITH_ALL!);
  t.is(page({ job_id: 'a', status_code: { $in: [404, 410] } }, { index: -1 }), WITH_ALL!);
});

test('the store seeks a page of one value by that value', (t) => {
  t.is(page({ job_id: 'a', status_code: 404 }, { index: 1 }), BY_STATUS!);
  t.is(page({ $and: [{ job_id: 'a' }, { status_code: null }] }, { index: 1 }), BY_STATUS!);
  t.is(page({ job_id: 'a' }, { status_code: -1, index: -1 }), BY_STATUS!);
});

test('SQLite chooses the index where none has the order, begins with a value or holds the fields', (t) => {
  t.is(page({ job_id: 'a' }, { url: 1 }), null);
  t.is(page({ job_id: 'a' }, { status_code: 1, index: -1 }), null);
  t.is(page({}, { index: 1 }), null);
  t.is(page({ job_id: { $gt: 'a' } }, { index: 1 }), null);
  t.is(page({ $or: [{ job_id: 'a' }, { index: 1 }] }, { index: 1 }), null);
});

test('the store reads a count from the index that narrows it most', (t) => {
  t.is(count({ job_id: 'a' }), IN_ORDER!);
  t.is(count({ job_id: 'a', index: { $gte: 10 } }), IN_ORDER!);
  t.is(count({ job_id: 'a', status_code: { $in: [404, 410] } }), BY_STATUS!);
  t.is(count({ job_id: 'a', status_code: { $ne: 200 }, url: { $contains: 'x' } }), WITH_ALL!);
  t.is(count({ status_code: 404 }), null);
});

test('a page takes one seek where the filter uses only the sought values and range', (t) => {
  const seeks = (filter: Filter, sort: Sort) => {
    const query = checkQuery(spec, filter, { sort });
    return isSeek(indexForPage(spec, query), query.where);
  };
  t.true(seeks({ job_id: 'a' }, { index: 1 }));
  t.true(seeks({ job_id: 'a', index: { $gt: 5, $lt: 100 } }, { index: 1 }));
  t.true(seeks({ job_id: 'a', status_code: null }, { index: 1 }));
  t.true(seeks({}, {}));
  t.false(seeks({ job_id: 'a', url: { $contains: 'x' } }, { index: 1 }));
  t.false(seeks({ job_id: 'a', status_code: { $in: [404, 410] } }, { index: 1 }));
  t.false(seeks({ job_id: 'a', index: { $ne: 5 } }, { index: 1 }));
  t.false(seeks({ job_id: { $gt: 'a' } }, { index: 1 }));
});
