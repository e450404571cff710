// Which URLs of a batch are checked, as the job's document keeps it.
import { isIn, maskOf, placesOf } from '../../events/url-mask.ts';

/** How many URLs are checked, from the batch's first one on; where an unchecked one is before a checked one, a mask of the checked ones. */
export type Done = number | string;

export const isDone = (done: Done, place: number): boolean =>
  typeof done === 'number' ? place < done : isIn(done, place);

/** The number of URLs before the first unchecked one. */
export function leading(done: Done): number {
  if (typeof done === 'number') return done;
  let place = 0;
  while (isIn(done, place)) place++;
  return place;
}

/** The number of checked URLs from the place `from` up to and without `to`. */
export function doneWithin(done: Done, from: number, to: number): number {
  if (typeof done === 'number') return Math.max(0, Math.min(done, to) - from);
  return placesOf(done).filter((place) => place >= from && place < to).length;
}

/** Adds places, in order, that are not checked. */
export function withDone(done: Done, places: readonly number[]): Done {
  if (typeof done === 'number' && places[0] === done && places.at(-1) === done + places.length - 1) {
    return done + places.length;
  }
  const before = typeof done === 'number' ? Array.from({ length: done }, (_, place) => place) : placesOf(done);
  const mask = maskOf([...before, ...places]);
  const first = leading(mask);
  return first === before.length + places.length ? first : mask;
}
