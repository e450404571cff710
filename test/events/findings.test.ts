// What results say beyond their outcomes.
import test from 'ava';
import type { Outcome } from '../../events/checks.ts';
import { findingsOf, isTemporary, redirectKindOf } from '../../events/findings.ts';

const OUTCOME: Outcome = {
  status_code: 200,
  final_url: null,
  is_broken: false,
  is_soft_404: false,
  redirect_chain: [],
  response_time_ms: 1,
  content_type: null,
  error_code: null,
  verdict: 'ok',
  protection: null,
  attempts: 1,
};

test('a failure that may pass is temporary, and only a failure', (t) => {
  const statuses = [
    200, 301, 400, 401, 403, 404, 405, 408, 410, 425, 429, 451, 500, 501, 502, 503, 504, 505, 520, 524, 525, 529,
  ];
  t.deepEqual(
    statuses.filter((status_code) => isTemporary({ verdict: 'broken', status_code, error_code: null })),
    [408, 425, 429, 500, 502, 503, 504, 520, 524, 529],
  );
  for (const verdict of ['ok', 'blocked', 'soft_404'] as const)
    t.false(isTemporary({ verdict, status_code: 503, error_code: null }));
  const errors = [
    'dns_failed',
    'dns_not_found',
    'connection_reset',
    'response_timeout',
    'connect_timeout',
    'tls_expired',
  ];
  t.deepEqual(
    errors.filter((error_code) =>
      isTemporary({ verdict: 'unreachable', status_code: null, error_code: error_code as Outcome['error_code'] }),
    ),
    ['dns_failed', 'connection_reset', 'response_timeout', 'connect_timeout'],
  );
  // The status of the redirect before it says nothing of the failure.
  t.false(isTemporary({ verdict: 'unreachable', status_code: 503, error_code: 'invalid_redirect' }));
});

test('redirects are permanent when every one of them is', (t) => {
  t.is(redirectKindOf([]), undefined);
  t.is(redirectKindOf([301, 308]), 'permanent');
  t.is(redirectKindOf([302, 303, 307]), 'temporary');
  t.is(redirectKindOf([301, 302]), 'mixed');
});

test('each redirect is shown with its status', (t) => {
  const redirect_chain = ['http://a.example/b', 'http://a.example/c'];
  t.deepEqual(findingsOf({ ...OUTCOME, redirect_chain, redirect_statuses: [301, 302] }, 'http://a.example/'), {
    temporary: false,
    redirects: [
      { url: 'http://a.example/b', status_code: 301 },
      { url: 'http://a.example/c', status_code: 302 },
    ],
    redirect_kind: 'mixed',
    redirect_changes: 'address',
  });
  t.deepEqual(findingsOf({ ...OUTCOME, redirect_chain }, 'http://a.example/').redirects, []);
  t.deepEqual(findingsOf(OUTCOME, 'http://a.example/'), { temporary: false, redirects: [] });
});

const CHANGES: readonly [from: string, to: string, expected: 'form' | 'address'][] = [
  ['http://a.example/x', 'https://a.example/x', 'form'],
  ['http://a.example/x', 'https://www.a.example/x/', 'form'],
  ['http://www.a.example/X', 'http://a.example/x', 'form'],
  ['http://a.example', 'http://a.example/', 'form'],
  ['http://a.example/x?q=1', 'https://a.example/x/?q=1', 'form'],
  ['http://a.example/x', 'http://a.example/y', 'address'],
  ['http://a.example/x?q=1', 'http://a.example/x', 'address'],
  ['http://a.example/x', 'http://b.example/x', 'address'],
  ['http://a.example/x', 'http://a.example:8080/x', 'address'],
  ['http://a.example/x', 'http://m.a.example/x', 'address'],
];
for (const [from, to, expected] of CHANGES) {
  test(`a redirect from ${from} to ${to} changes the ${expected}`, (t) =>
    t.is(findingsOf({ ...OUTCOME, redirect_chain: [to], redirect_statuses: [301] }, from).redirect_changes, expected));
}
