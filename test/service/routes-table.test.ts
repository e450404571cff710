import { readFileSync } from 'node:fs';
import test from 'ava';
import { ROUTES_TABLE, routesTable } from '../support/routes-table.ts';

test('docs/routes.md has a row for each route, as the table of routes says', (t) => {
  t.is(readFileSync(ROUTES_TABLE, 'utf8'), routesTable(), 'write it again: node test/support/routes-table.ts');
});
