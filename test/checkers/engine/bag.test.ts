import test from 'ava';
import fc from 'fast-check';
import { Bag } from '../../../checkers/engine/bag.ts';

test('a bag holds what a set would hold, whatever is added and removed', (t) => {
  const moves = fc.array(fc.nat(7), { maxLength: 60 });
  t.notThrows(() =>
    fc.assert(
      fc.property(moves, (order) => {
        const members = Array.from({ length: 8 }, () => ({ place: -1 }));
        const bag = new Bag<(typeof members)[0]>();
        const set = new Set<(typeof members)[0]>();
        for (const n of order) {
          const member = members[n]!;
          if (set.delete(member)) bag.delete(member);
          else {
            set.add(member);
            bag.add(member);
          }
          if (bag.size !== set.size || !bag.all.every((one) => set.has(one))) return false;
          if (members.some((one) => one.place >= 0 !== set.has(one))) return false;
        }
        return true;
      }),
    ),
  );
});
