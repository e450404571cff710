// The halves of a corpus: rules are tuned on one, and measured on the other.
import { hash } from 'node:crypto';

/** Which half a page, or all pages of a project, are in: the name decides, before anybody has seen how they are judged. */
export const halfOf = (name: string): 'tune' | 'measure' =>
  hash('sha256', name, 'buffer')[0]! % 2 === 0 ? 'tune' : 'measure';
