// Which backup runs: simultaneous requests of several processes, and requests that died.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openBackups } from '../../commands/backups.ts';
import type { EventStore } from '../../events/event-store.ts';
import { backupStream } from '../../events/streams.ts';
import { coded, commandContext, openTestStores } from '../support/stores.ts';

const failure = { type: 'fail', reason: 'fault', message: 'no' } as const;

test('of simultaneous requests to several processes one starts a backup, and the others learn its id', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const processes = [openBackups(log), openBackups(log), openBackups(log)];
  for (let round = 0; round < 3; round++) {
    const ids = Array.from({ length: 30 }, () => randomUUID());
    const answers = await Promise.all(ids.map((id, n) => processes[n % 3]!.start(id, commandContext())));
    const started = ids.filter((_, n) => answers[n]!.ok);
    t.is(started.length, 1);
    const refused = answers.flatMap((each) => (each.ok ? [] : [each.refused]));
    t.is(refused.length, 29);
    for (const each of refused) t.like(each, { code: 'backup_running', backup_id: started[0] });
    t.is((await processes[0]!.read(started[0]!)).status, 'running');
    await processes[1]!.run(started[0]!, failure, commandContext());
  }
});

test('a request that died before it started its backup holds up no other: the next one starts that backup', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const died = randomUUID();
  const dying: EventStore = {
    ...log,
    append: (stream, ...rest) =>
      stream === backupStream(died) ? Promise.reject(new Error('killed')) : log.append(stream, ...rest),
  };
  await t.throwsAsync(openBackups(dying).start(died, commandContext()), { message: 'killed' });
  const next = openBackups(log);
  t.is((await next.read(died)).status, 'unknown');
  t.like(await next.start(randomUUID(), commandContext()), { refused: { backup_id: died } });
  t.is((await next.read(died)).status, 'running');
  t.like(await next.start(died, commandContext()), { ok: true }, 'the request is repeated');
  await next.run(died, failure, commandContext());
  t.like(await next.start(randomUUID(), commandContext()), { ok: true });
});
