// Which URLs of a batch are checked: the short form holds what a set would.
import test from 'ava';
import fc from 'fast-check';
import { maskOf, placesOf } from '../../../events/url-mask.ts';
import { type Done, doneWithin, isDone, leading, withDone } from '../../../readmodels/jobs/batch-progress.ts';

const URLS = 100;
const places = fc.uniqueArray(fc.nat(URLS - 1), { maxLength: URLS });
const inOrder = (some: readonly number[]) => [...some].sort((a, b) => a - b);

test('a mask has the places that it was made of', (t) => {
  t.is(maskOf([0, 1, 5]), '32');
  fc.assert(fc.property(places, (some) => void t.deepEqual(placesOf(maskOf(some)), inOrder(some))));
});

test('places that are added in any order and number are those that are done', (t) => {
  fc.assert(
    fc.property(places, fc.array(fc.integer({ min: 1, max: 30 })), fc.nat(URLS), fc.nat(URLS), (all, sizes, a, b) => {
      let done: Done = 0;
      const rest = [...all];
      const set = new Set<number>();
      while (rest.length > 0) {
        const some = inOrder(rest.splice(0, sizes.shift() ?? 100));
        done = withDone(done, some);
        for (const place of some) set.add(place);
        let first = 0;
        while (set.has(first)) first++;
        t.is(leading(done), first);
        t.is(typeof done === 'number', first === set.size, 'a number where no place is missing');
      }
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      t.is(doneWithin(done, from, to), [...set].filter((place) => place >= from && place < to).length);
      for (let place = 0; place < URLS; place++) t.is(isDone(done, place), set.has(place));
    }),
  );
});
