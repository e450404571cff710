// Which connection a request goes on.
import test from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { SETTINGS } from '../../support/engine-settings.ts';
import { html, page, reply, startTestSite } from '../../support/test-site.ts';

test('an idle connection waits a minute for the next URL of its origin, and no longer', async (t) => {
  const site = await startTestSite();
  let now = 0;
  const engine = createEngine(SETTINGS, { now: () => now });
  t.teardown(() => site.close());
  await engine.check(`${site.origin}/fine`);
  now = 59_000;
  await engine.check(`${site.origin}/fine`);
  t.is(site.accepted, 1);
  now = 59_000 + 60_000;
  await site.drained();
  await engine.check(`${site.origin}/fine`);
  t.is(site.accepted, 2);
  await engine.close();
});

test('a request that was misdirected goes on another connection, once', async (t) => {
  let answers = 0;
  const site = await startTestSite({
    behaviours: {
      '/once': (_request, socket) => (answers++ === 0 ? reply(socket, 421, {}) : page(socket, html('Found', 'Found'))),
      '/always': (_request, socket) => reply(socket, 421, {}),
    },
  });
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  t.like(await engine.check(`${site.origin}/once`), { status_code: 200, verdict: 'ok', attempts: 1 });
  t.is(site.accepted, 2);
  t.like(await engine.check(`${site.origin}/always`), { status_code: 421, verdict: 'broken', attempts: 1 });
  t.is(site.requests.filter((path) => path === '/always').length, 2);
  await engine.close();
});
