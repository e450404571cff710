// The log lines of checks that fail: each process asks itself every second.
import test from 'ava';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { PROBES } from '../../http/server/probes.ts';
import { NotReady } from '../../http/server/readiness.ts';

test('a check that goes on failing has one line a minute, and another when its reason changes or it fails anew', async (t) => {
  let reason: string | null = 'no heartbeat';
  let clock_ms = 0;
  const lines: unknown[] = [];
  const log = { warn: ({ detail }: { detail: string }) => lines.push(detail) } as unknown as Logger;
  const checker = async () => {
    if (reason !== null) throw new NotReady(reason);
  };
  const options = { log, registry: new Registry(), readiness: { checker }, monotonic: () => clock_ms };
  const ask = async (now: string | null) => {
    reason = now;
    for (let n = 0; n < 3; n++) t.is((await PROBES['/readyz']!(options)).status ?? 200, now === null ? 200 : 503);
  };
  await ask('no heartbeat');
  await ask('no name server');
  await ask(null);
  await ask('no name server');
  t.deepEqual(lines, ['no heartbeat', 'no name server', 'no name server']);
  clock_ms = 60_000;
  await ask('no name server');
  t.is(lines.length, 4);
  // Reasons tell how long or how many: these numbers grow with each look.
  await ask('fails since 4 s (a store does not answer)');
  await ask('fails since 5 s (a store does not answer)');
  await ask('fails since 12 s (a store does not answer)');
  t.deepEqual(lines.slice(4), ['fails since 4 s (a store does not answer)']);
});
