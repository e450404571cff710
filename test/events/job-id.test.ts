import test from 'ava';
import { newJobId } from '../../events/job-id.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const RANDOM = 'ffffffff-ffff-4123-8456-789abcdef012';

test('an id of a job is a uuid version 7: its time, and the random bits of a uuid version 4', (t) => {
  t.is(newJobId(0x0123_4567_89ab, RANDOM), '01234567-89ab-7123-8456-789abcdef012');
  t.regex(newJobId(Date.now()), UUID_V7);
});

test('ids of later jobs are greater, and ids of one time differ', (t) => {
  const now = Date.now();
  t.true(newJobId(now, RANDOM) < newJobId(now + 1, RANDOM.replace('123', '000')));
  t.is(new Set(Array.from({ length: 1000 }, () => newJobId(now))).size, 1000);
});

test('a clock with fractions, or before 1970, makes an id too', (t) => {
  t.is(newJobId(1.5, RANDOM), newJobId(1, RANDOM));
  t.regex(newJobId(-1), UUID_V7);
});
