// The file of a person's data has every read model that keeps something of them.
import test from 'ava';
import type { Parts } from '../../../http/group.ts';
import { group } from '../../../http/users/my-export.ts';
import { ALL_PROJECTIONS } from '../../../projections/all.ts';

test('every read model is in the file of a person, or is left out for a reason', (t) => {
  const exported: string[] = [];
  const read = (specs: Record<string, { name: string }>) =>
    exported.push(...Object.values(specs).map(({ name }) => name));
  group.open({ read } as unknown as Parts);
  const all = ALL_PROJECTIONS.flatMap(({ collections }) => collections);
  const in_file = all.filter(({ personal }) => personal === 'in_file').map(({ name }) => name);
  t.deepEqual(exported.sort(), in_file.sort());
});
