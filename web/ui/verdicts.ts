// The verdicts in the order in which they are shown, with their words.
export const VERDICTS = [
  { name: 'ok', label: 'OK' },
  { name: 'redirected', label: 'Redirected' },
  { name: 'soft_404', label: 'Soft 404' },
  { name: 'blocked', label: 'Blocked by bot protection' },
  { name: 'broken', label: 'Broken' },
  { name: 'unreachable', label: 'Unreachable' },
] as const;
