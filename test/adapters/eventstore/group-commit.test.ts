// How the commits of the SQLite event log follow each other under steady appends. Time stands still here unless a test lets it pass.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connect } from '../../../adapters/eventstore/sqlite/connection.ts';
import { GroupCommit } from '../../../adapters/eventstore/sqlite/group-commit.ts';
import { newEvent } from '../../contracts/event-store/fixture.ts';
import { until } from '../../support/until.ts';

/** More commits than a run makes at once. */
const RUN = 30;

async function openLog(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'group-commit-'));
  const db = await connect(join(folder, 'events.db'), 1000);
  t.teardown(() => {
    db.close();
    return rm(folder, { recursive: true });
  });
  const waits = new Set<() => void>();
  let commits = 0;
  const log = new GroupCommit(
    db,
    0,
    () => commits++,
    (then) => {
      waits.add(then);
      return () => waits.delete(then);
    },
  );
  /** Appends `count` events to a stream, each after the one before is stored. */
  const write = async (stream: string, count: number) => {
    for (let n = 0; n < count; n++) {
      await log.append(`sample-${stream}`, n === 0 ? 'no_stream' : n - 1, [newEvent()]);
    }
  };
  return { log, write, waits, commits: () => commits };
}

test('who awaits each append before the next never waits for others', async (t) => {
  const { write, commits } = await openLog(t);
  await write('alone', RUN);
  t.is(commits(), RUN);
});

test('many who await each append share their commits, and wait for each other alone', async (t) => {
  const { write, commits } = await openLog(t);
  await Promise.all(['a', 'b', 'c', 'd'].map((stream) => write(stream, RUN)));
  t.is(commits(), RUN);
});

test('appends that nobody awaits gather for a time', async (t) => {
  const { log, write, waits, commits } = await openLog(t);
  await Promise.all(['a', 'b', 'c', 'd'].map((stream) => write(stream, RUN)));
  const later = ['e', 'f'].map((stream) => log.append(`sample-${stream}`, 'no_stream', [newEvent()]));
  await until(() => waits.size === 1);
  t.is(commits(), RUN);
  for (const end of waits) end();
  await Promise.all(later);
  t.is(commits(), RUN + 1);
});
