// Waits that end early leave no timer, which would keep a thread alive.
import test from 'ava';
import { atMost, pause } from '../../time/pause.ts';

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

test.serial('atMost resolves as the work does, or rejects as it does, and leaves no timer', async (t) => {
  const before = timers();
  t.is(await atMost(60_000, Promise.resolve('done')), 'done');
  await t.throwsAsync(atMost(60_000, Promise.reject(new Error('failed'))), { message: 'failed' });
  t.is(timers(), before);
});

test.serial('atMost continues without work that takes longer', async (t) => {
  t.is(await atMost(1, new Promise(() => {})), undefined);
});

test.serial('a pause that is aborted leaves no timer', async (t) => {
  const before = timers();
  const stop = new AbortController();
  const paused = pause(60_000, stop.signal);
  t.is(timers(), before + 1);
  stop.abort();
  await paused;
  t.is(timers(), before);
});
