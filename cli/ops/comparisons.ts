// What a comparison of documents has found, in lines of text.
import type { Comparison, Difference } from '../../readmodels/projection-state.ts';
import { count } from './command.ts';

export function textOfComparison({ documents, differing, differences }: Omit<Comparison, 'position'>): string[] {
  const compared = count(documents, 'document');
  if (differing === 0) return [`${compared} compared: the live ones are equal`];
  const more = differing - differences.length;
  return [
    `${compared} compared: ${count(differing, 'live one differs', 'live ones differ')}`,
    ...differences.map(textOfDifference),
    ...(more > 0 ? [`… and ${count(more, 'more', 'more')}`] : []),
  ];
}

export function textOfDifference({ collection, id, kind, fields }: Difference): string {
  if (kind === 'missing') return `${collection} ${id} is missing`;
  return kind === 'surplus' ? `${collection} ${id} is not in the log` : `${collection} ${id}: ${fields.join(', ')}`;
}
