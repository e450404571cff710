// In which order requests begin, how many of a turn of the event loop, and which are refused.
import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { RequestTurns, restTurn } from '../../../http/frame/request-turns.ts';
import { until } from '../sample-app.ts';

/** RequestTurns with a clock of their own; each request takes so long when it begins. */
function openTurns({ reads_at_once = 4, cost_ms = 0 } = {}) {
  let now = 0;
  let looks = 0;
  const monotonic = () => {
    looks++;
    return now;
  };
  const turns = new RequestTurns({ reads_at_once, monotonic });
  const began: string[] = [];
  const refused: string[] = [];
  return {
    ...{ began, refused },
    ask(name: string, { method = 'GET', of = ['192.0.2.1', name[0]!] } = {}) {
      const request = { method } as IncomingMessage;
      const begin = () => {
        began.push(name);
        now += cost_ms;
      };
      const leave = turns.enter({ request, of, begin, refuse: () => refused.push(name) });
      return { leave, rest: () => restTurn(request) };
    },
    passes: (ms: number) => void (now += ms),
    /** How often it has looked at the clock. */
    looks: () => looks,
  };
}

test('a request begins at once where nobody waits', (t) => {
  const { ask, began } = openTurns();
  ask('a');
  ask('b');
  t.deepEqual(began, ['a', 'b']);
});

test('one caller has half of the places of reads, and a place that is given back goes to who waits', async (t) => {
  const { ask, began } = openTurns();
  const first = ['a1', 'a2', 'a3', 'a4'].map((name) => ask(name));
  ask('b1');
  await until(() => began.includes('b1'));
  t.deepEqual(began, ['a1', 'a2', 'b1']);
  first[0]!.rest();
  await until(() => began.includes('a3'));
  first[0]!.leave();
  first[1]!.leave();
  await until(() => began.includes('a4'));
  t.deepEqual(began, ['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('the event loop rests while requests wait and no place is free', async (t) => {
  const { ask, began, looks } = openTurns();
  const asked = ['a1', 'a2', 'b1', 'b2', 'c1'].map((name) => ask(name));
  for (let n = 0; n < 10; n++) await turn();
  t.is(began.length, 4);
  const before = looks();
  for (let n = 0; n < 1000; n++) await turn();
  // A timer looks now and then.
  t.true(looks() - before < 500, String(looks() - before));
  for (const one of asked) one.leave();
});

test('changes hold no place', (t) => {
  const { ask, began } = openTurns();
  for (let n = 0; n < 20; n++) ask(`a${n}`, { method: 'POST' });
  t.is(began.length, 20);
});

test('a turn of the event loop begins requests for some milliseconds, and callers take turns', async (t) => {
  const { ask, began } = openTurns({ cost_ms: 3 });
  for (let n = 0; n < 20; n++) ask(`a${n}`, { method: 'POST' });
  t.is(began.length, 3);
  ask('b', { method: 'POST' });
  await turn();
  await until(() => began.includes('b'));
  t.true(began.indexOf('b') <= 4, String(began));
  await until(() => began.length === 21);
  t.is(began.at(-1), 'a19');
});

test('a request that has waited for a second is refused; one whose client has left is forgotten', async (t) => {
  const { ask, began, refused, passes } = openTurns();
  const holding = [ask('a1'), ask('a2')];
  ask('a3');
  const left = ask('a4');
  left.leave();
  passes(999);
  await turn();
  t.deepEqual(refused, []);
  passes(1);
  await until(() => refused.length > 0);
  t.deepEqual(refused, ['a3']);
  for (const one of holding) one.leave();
  ask('a5');
  await until(() => began.includes('a5'));
  t.deepEqual(began, ['a1', 'a2', 'a5']);
});

test('thousands of requests that are answered while they begin fill no stack', async (t) => {
  const turns = new RequestTurns({ reads_at_once: 2, monotonic: () => 0 });
  let began = 0;
  const ask = (begin: (request: IncomingMessage) => void) => {
    const request = { method: 'GET' } as IncomingMessage;
    turns.enter({ request, of: ['192.0.2.1'], begin: () => begin(request), refuse: () => t.fail() });
    return request;
  };
  const first = ask(() => {});
  for (let n = 0; n < 20_000; n++) {
    ask((request) => {
      began++;
      restTurn(request);
    });
  }
  restTurn(first);
  await until(() => began === 20_000);
  t.pass();
});
