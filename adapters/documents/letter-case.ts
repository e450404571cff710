// Which letters `$contains` takes for the same, however a store's own patterns fold case.

const isAscii = (letter: string) => letter <= '\x7f';

/**
 * A letter, and its other case where that is one letter too. ASCII letters and others stay apart: the Kelvin sign is no k.
 * @example formsOf('é') // ['é', 'É']
 */
export function formsOf(letter: string): string[] {
  const forms = [letter, letter.toLowerCase(), letter.toUpperCase()];
  const same = forms.filter((form) => [...form].length === 1 && isAscii(form) === isAscii(letter));
  return [...new Set(same)];
}
