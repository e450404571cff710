// What every list of signed-in browsers shows of each.
import type { Column } from './table.tsx';
import { Time } from './values.tsx';

interface Session {
  id: string;
  created_at: string;
  expires_at: string;
  is_admin: boolean;
}

export const SESSION_COLUMNS: readonly Column<Session>[] = [
  { label: 'Signed in', cell: ({ created_at }) => <Time at={created_at} /> },
  { label: 'Until', cell: ({ expires_at }) => <Time at={expires_at} /> },
  { label: 'As', cell: ({ is_admin }) => (is_admin ? 'administrator' : 'user') },
];
