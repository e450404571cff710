// Sets of places in a short list, as hexadecimal digits: the digit n tells of the places 4n to 4n+3, the lowest bit of the first.
// A batch has at most a hundred URLs, so a set of them takes at most 25 characters, whichever they are.

const BITS = 4;
const DIGITS = '0123456789abcdef';

/** @example maskOf([0, 1, 5]) // '32' */
export function maskOf(places: Iterable<number>): string {
  const digits: number[] = [];
  for (const place of places) {
    const digit = Math.floor(place / BITS);
    while (digits.length <= digit) digits.push(0);
    digits[digit]! |= 1 << (place % BITS);
  }
  return digits.map((digit) => DIGITS[digit]).join('');
}

/**
 * Returns the places in order. Characters that are no digits have none.
 * @example placesOf('32') // [0, 1, 5]
 */
export function placesOf(mask: string): number[] {
  const places: number[] = [];
  for (let at = 0; at < mask.length; at++) {
    const digit = DIGITS.indexOf(mask[at]!);
    for (let bit = 0; digit > 0 && bit < BITS; bit++) if ((digit >> bit) & 1) places.push(at * BITS + bit);
  }
  return places;
}

export const isIn = (mask: string, place: number): boolean =>
  ((DIGITS.indexOf(mask[Math.floor(place / BITS)] ?? '0') >> (place % BITS)) & 1) === 1;
