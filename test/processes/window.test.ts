// How much work may be handed out: the window follows the slots of the checkers, and the queue the rate at which they take work.
import test from 'ava';
import { QueueDepth } from '../../processes/queue-depth.ts';
import { Window } from '../../processes/window.ts';

test('the window grows with the slots of the checkers that are alive, and has a least size', (t) => {
  const window = new Window();
  const alone = window.urls(0);
  t.true(alone >= 10_000);
  for (let n = 0; n < 8; n++) window.observe({ id: `c${n}`, leaves: false, slots: 4000 }, 0);
  const of_eight = window.urls(0);
  t.true(of_eight >= 3 * 8 * 4000, 'a lone job, which gets a third, can fill all slots');
  window.observe({ id: 'c0', leaves: true }, 1000);
  t.is(window.urls(1000), (of_eight * 7) / 8);
  window.observe({ id: 'c1', leaves: false, slots: 4000 }, 20_000);
  t.is(window.urls(20_000), Math.max(alone, of_eight / 8), 'the silent ones are gone');
  window.observe({ id: 'old', leaves: false }, 20_000);
  t.is(window.urls(20_000), Math.max(alone, of_eight / 8));
});

/** A queue and its dispatcher by a clock, and checkers that take messages at a rate. */
function queueOf(pass_ms = 20) {
  const depth = new QueueDepth();
  let [now_ms, waiting, budget] = [0, 0, 0];
  return {
    /** Runs for some seconds; returns the most messages that waited, and how many were taken. */
    run(seconds: number, messages_a_second: number) {
      let [most, taken] = [0, 0];
      for (const end_ms = now_ms + seconds * 1000; now_ms < end_ms; now_ms += pass_ms) {
        const room = depth.room(waiting, now_ms);
        depth.published(room);
        waiting += room;
        most = Math.max(most, waiting);
        budget += (messages_a_second * pass_ms) / 1000;
        const some = Math.min(waiting, Math.floor(budget));
        budget = Math.min(budget - some, 1);
        waiting -= some;
        taken += some;
      }
      return { most, taken };
    },
  };
}

for (const rate of [1, 10, 100, 400, 2000]) {
  test(`the queue holds at most a second of work of checkers that take ${rate} messages a second`, (t) => {
    const { run } = queueOf();
    run(5, rate);
    const { most, taken } = run(15, rate);
    t.true(most <= Math.max(8, rate), `${most} waited`);
    t.true(taken >= 0.98 * 15 * rate, `${taken} were taken: none was missing`);
  });
}

test('the queue gets shallow again when the checkers become slow', (t) => {
  const { run } = queueOf();
  t.true(run(5, 400).most >= 100);
  run(30, 10);
  t.true(run(5, 10).most <= 10);
});
