// The checker as a library, without the service.
import test from 'ava';
import { check, createEngine, DEFAULT_SETTINGS } from '../../checkers/index.ts';
import { startTestSite } from '../support/test-site.ts';

const LOOPBACK = { allow_addresses: ['127.0.0.0/8'] };

test('a call returns one outcome and leaves nothing open', async (t) => {
  const site = await startTestSite();
  t.teardown(() => site.close());
  const outcome = await check(`${site.origin}/once`, LOOPBACK);
  t.like(outcome, { verdict: 'redirected', status_code: 200, final_url: `${site.origin}/fine`, attempts: 1 });
  await site.drained();
  t.is(site.open, 0);
});

test('without exceptions the library requests nothing private', async (t) => {
  const site = await startTestSite();
  t.teardown(() => site.close());
  t.like(await check(`${site.origin}/fine`), { verdict: 'unreachable', error_code: 'blocked_address' });
  t.is(site.accepted, 0);
});

test('an invalid URL gets an outcome, and an aborted signal throws an AbortError', async (t) => {
  t.like(await check('nonsense'), { verdict: 'unreachable', error_code: 'invalid_url' });
  await t.throwsAsync(check('http://example.com/', { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('an aborted check leaves nothing open', async (t) => {
  const controller = new AbortController();
  const site = await startTestSite({ behaviours: { '/waits': () => controller.abort() } });
  t.teardown(() => site.close());
  const checking = check(`${site.origin}/waits`, { ...LOOPBACK, signal: controller.signal });
  await t.throwsAsync(checking, { name: 'AbortError' });
  await site.drained();
  t.is(site.open, 0);
});

test('many checks share one engine and its connections', async (t) => {
  const site = await startTestSite();
  const engine = createEngine({ ...DEFAULT_SETTINGS, ...LOOPBACK, per_host: 2 });
  t.teardown(() => site.close());
  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => engine.check(`${site.origin}/fine?${i}`)));
  t.true(outcomes.every(({ verdict }) => verdict === 'ok'));
  t.true(site.accepted <= 2);
  await engine.close();
});
