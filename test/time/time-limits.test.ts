// The table of time limits in the guide is the one of the code.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { TIME_LIMITS } from '../../time/time-limits.ts';

test('the guide shows the time limits of each store', (t) => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/what-happens-when.md'), 'utf8');
  for (const [store, { answer_ms, silent_ms, longest_wait_ms, unavailable_after_ms }] of Object.entries(TIME_LIMITS)) {
    const cells = [answer_ms, silent_ms, longest_wait_ms, unavailable_after_ms].map((ms) => `${ms / 1000} s`);
    t.true(guide.includes(`\n| ${store} | ${cells.join(' | ')} |\n`), `${store}: ${cells.join(', ')}`);
  }
});
