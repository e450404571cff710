// Says in words what a pattern of a schema wants, because people read the messages about texts that it refuses.

const WORDS = new Map<string, string>();

/**
 * Keeps the words of the message about a text that the pattern refuses, and returns the pattern.
 * @example inWords('^[a-z]+$', 'must be small letters') // '^[a-z]+$'
 */
export function inWords(pattern: string, words: string): string {
  WORDS.set(pattern, words);
  return pattern;
}

/** @example wordsOf('[0-9]') // undefined */
export const wordsOf = (pattern: string): string | undefined => WORDS.get(pattern);
