// The clock by which webhooks are due: wall time, without its steps back.
import test from 'ava';
import { steadyClock } from '../../time/steady-clock.ts';

const MINUTE = 60_000;

function clocks() {
  let wall_ms = 1_000 * MINUTE;
  let elapsed_ms = 0;
  const clock = steadyClock(
    () => wall_ms,
    () => elapsed_ms,
  );
  return {
    clock,
    pass(ms: number) {
      wall_ms += ms;
      elapsed_ms += ms;
    },
    step: (ms: number) => (wall_ms += ms),
    ahead: () => clock() - wall_ms,
  };
}

test('the steady clock is wall time, and follows a step forward at once', (t) => {
  const { pass, step, ahead } = clocks();
  pass(MINUTE);
  t.is(ahead(), 0);
  step(30 * MINUTE);
  t.is(ahead(), 0);
});

test('after a step back the steady clock runs at half speed until wall time has caught up', (t) => {
  const { clock, pass, step, ahead } = clocks();
  const before = clock();
  step(-60 * MINUTE);
  t.is(clock(), before);
  pass(10 * MINUTE);
  t.is(clock(), before + 5 * MINUTE, 'a retry in five minutes comes in ten');
  pass(110 * MINUTE);
  t.is(ahead(), 0);
});
