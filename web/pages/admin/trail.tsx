// What administrators did, as the trail of all and that of one user show it.
import type { AnswerOf } from '../../api/ask.ts';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/values.tsx';

type Entry = AnswerOf<'GET /admin/audit-trail'>['items'][number];

export const words = (name: string): string => name.replaceAll('_', ' ');

export const TRAIL: readonly Column<Entry>[] = [
  { label: 'When', cell: (entry) => <Time at={entry.at} /> },
  { label: 'What', cell: (entry) => words(entry.action) },
  { label: 'By', cell: (entry) => <bdi>{entry.admin_id}</bdi> },
  { label: 'Reason', cell: (entry) => <bdi>{entry.reason || '–'}</bdi> },
  {
    label: 'Details',
    cell: (entry) => (
      <small>
        <bdi>
          {Object.entries(entry.details)
            .map(([name, value]) => `${words(name)} ${value ?? 'none'}`)
            .join(', ')}
        </bdi>
      </small>
    ),
  },
];
