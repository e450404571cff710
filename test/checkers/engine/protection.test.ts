// The marks of bot protection: refusals as the products send them, and answers that only look like them.
import test from 'ava';
import { isChallengePage, protectionOf } from '../../../checkers/engine/protection.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';
import { ODD_STATUS_SAMPLES } from './odd-status-samples.ts';
import { JSD, SAMPLES as PRODUCT_SAMPLES } from './protection-samples.ts';

const SAMPLES = [...PRODUCT_SAMPLES, ...ODD_STATUS_SAMPLES];

test('the table has enough samples, of counterexamples too', (t) => {
  t.true(SAMPLES.length >= 40);
  t.true(SAMPLES.filter(([, , , , expected]) => expected === null).length >= 15);
});

for (const [what, status, headers, body, expected] of SAMPLES) {
  test(`a ${status} with ${what} shows ${expected ?? 'no protection'}`, (t) =>
    t.is(protectionOf(status, headers, body), expected));
}

/** Only its length tells it from a challenge. */
const QUOTES = new Set(['an article that quotes a challenge']);

test('a challenge counts with any status, and a page that a product only watches does not', (t) => {
  for (const [what, , , body, expected] of SAMPLES) {
    if (expected === null && !QUOTES.has(what)) t.false(isChallengePage(body), what);
  }
  t.true(isChallengePage('<title>Just a moment...</title>'));
  t.true(isChallengePage('<iframe src="/_Incapsula_Resource?SWUDNSAI=31&incident_id=1-2"></iframe>'));
  t.false(isChallengePage(`<h1>Page not found</h1>${JSD}`));
  t.false(isChallengePage('<h1>Lost?</h1><script src="/_Incapsula_Resource?SWJIYLWA=719d"></script>'));
  t.false(isChallengePage('<p>To prove that you are not a robot, complete the captcha: a tutorial</p>'));
});

const HOSTILE = [
  '<title>',
  '<TITLE>Access Denied</TITLE>',
  'Access denied | ',
  '"blockScript" ',
  'The request could not be satisfied ',
];
for (const piece of HOSTILE) {
  test(`the search takes no time over a body of ${piece.trim()}…`, (t) => {
    const body = piece.repeat(16_384 / piece.length);
    const took_ms = leastCpuMs(() => protectionOf(403, {}, body));
    t.true(took_ms < 300, `${took_ms} ms`);
  });
}
