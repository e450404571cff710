// What the laboratory calls a failure.
import test from 'ava';
import { type LabCase, page } from './case.ts';
import { ANSWERS } from './cases/answers.ts';
import { CONNECTIONS } from './cases/connections.ts';
import { KIN } from './cases/kin.ts';
import { PAGES } from './cases/pages.ts';
import { REDIRECTS } from './cases/redirects.ts';
import { REPORTED } from './cases/reported.ts';
import { TARGETS } from './cases/targets.ts';
import { TRACKED } from './cases/trackers.ts';
import { differs, table } from './table.ts';

const lab: LabCase = { name: 'a', answer: page(), expected: '200 ok' };
const silent: LabCase = { ...lab, expected: '- unreachable connection_reset' };

const ROWS: readonly [what: string, lab: LabCase, ours: string, theirs: string | null, fails: boolean][] = [
  ['as expected, as Chromium', lab, '200 ok', '200', false],
  ['as expected, without Chromium', lab, '200 ok', null, false],
  ['not as expected', lab, '200 soft_404', '200', true],
  ['not as expected, without Chromium', lab, '404 broken', null, true],
  ['not as Chromium', lab, '200 ok', 'connection_reset', true],
  ['another status than Chromium', lab, '200 ok', '404', true],
  ['not as Chromium, by choice', { ...lab, choice: 'why' }, '200 ok', 'aborted', false],
  ['not as expected, in spite of a choice', { ...lab, choice: 'why' }, '404 broken', '404', true],
  ['no answer for both', silent, silent.expected, 'empty_response', false],
  ['no answer for us alone', silent, silent.expected, '200', true],
];
for (const [what, of, ours, theirs, fails] of ROWS) {
  test(`an outcome ${what} ${fails ? 'fails' : 'holds'}`, (t) => {
    t.is(differs({ lab: of, ours, theirs }), fails);
    t.regex(table([{ lab: of, ours, theirs }]), fails ? /\nFAIL .*1 failed$/s : /\nok .*0 failed$/s);
  });
}

test('each case has a name of its own that can be the label of a host', (t) => {
  const names = [...REDIRECTS, ...ANSWERS, ...CONNECTIONS, ...PAGES, ...REPORTED, ...KIN, ...TRACKED, ...TARGETS].map(
    ({ name }) => name,
  );
  t.is(new Set(names).size, names.length);
  t.deepEqual(
    names.filter((name) => !/^[a-z0-9-]{1,63}$/.test(name)),
    [],
  );
});
