import { EventEmitter } from 'node:events';
import test from 'ava';
import { onInterrupts } from '../../cli/interrupts.ts';

function fakeProcess() {
  const exits: unknown[] = [];
  const emitter = new EventEmitter();
  const process = Object.assign(emitter, { exit: (code?: unknown) => void exits.push(code) });
  return { process: process as unknown as NodeJS.Process, emit: (name: string) => void emitter.emit(name), exits };
}

test('the first signal aborts and the second one ends the process, with the code of the signal', (t) => {
  const { process, emit, exits } = fakeProcess();
  let now = 0;
  const interrupts = onInterrupts(process, () => now);
  t.false(interrupts.signal.aborted);
  emit('SIGTERM');
  t.true(interrupts.signal.aborted);
  t.is(interrupts.code, 143);
  now = 1000;
  emit('SIGINT');
  t.deepEqual(exits, [130]);
});

test('a signal that arrives twice, from the terminal and from npm, is one', (t) => {
  const { process, emit, exits } = fakeProcess();
  let now = 0;
  const interrupts = onInterrupts(process, () => now);
  emit('SIGINT');
  now = 20;
  emit('SIGINT');
  t.deepEqual(exits, []);
  t.is(interrupts.code, 130);
});
