// How the commits of the SQLite event log follow each other under steady appends. Time stands still here unless a test lets it pass.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Appends, type StoredAppend } from '../../../adapters/eventstore/sqlite/appends.ts';
import { Committer } from '../../../adapters/eventstore/sqlite/committer.ts';
import { connect } from '../../../adapters/eventstore/sqlite/connection.ts';
import { GroupCommit } from '../../../adapters/eventstore/sqlite/group-commit.ts';
import { newEvent } from '../../contracts/event-store/fixture.ts';
import { until } from '../../support/until.ts';

/** More commits than a run makes at once. */
const RUN = 30;

type Commit = Committer['commit'];

/** `sentTo`: what commits groups beside the log's own connection. */
async function openLog(t: ExecutionContext, sentTo?: (path: string) => Promise<Commit>) {
  const folder = await mkdtemp(join(tmpdir(), 'group-commit-'));
  const path = join(folder, 'events.db');
  const db = await connect(path, 1000);
  t.teardown(() => {
    db.close();
    return rm(folder, { recursive: true });
  });
  let sent = 0;
  const commit = await sentTo?.(path);
  const committer = commit && {
    commit: (group: readonly StoredAppend[]) => {
      sent += 1;
      return commit(group);
    },
  };
  const waits = new Set<() => void>();
  let commits = 0;
  const log = new GroupCommit(db, 0, () => commits++, {
    ...(committer && { committer }),
    monotonic: () => 0,
    later: (then) => {
      waits.add(then);
      return () => waits.delete(then);
    },
  });
  /** Appends `count` events to a stream, each after the one before is stored. */
  const write = async (stream: string, count: number) => {
    for (let n = 0; n < count; n++) {
      await log.append(`sample-${stream}`, n === 0 ? 'no_stream' : n - 1, [newEvent()]);
    }
  };
  /** The events in the order of the log. */
  const stored = () =>
    db.prepare('SELECT name, revision FROM events e JOIN streams s ON s.id = e.stream_id ORDER BY position').all();
  return { log, write, waits, stored, commits: () => commits, sent: () => sent };
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

/** The service's own thread. */
const inThread = (t: ExecutionContext) => async (path: string) => {
  const committer = new Committer({ path, checkpoint_pages: 1000 });
  t.teardown(() => committer.close());
  return (group: readonly StoredAppend[]) => committer.commit(group);
};
const STREAMS = ['a', 'b', 'c', 'd'];

test('a run of many writers is committed in another thread, each event once and in order', async (t) => {
  const { write, stored, sent, commits } = await openLog(t, inThread(t));
  await Promise.all(STREAMS.map((stream) => write(stream, RUN)));
  t.true(sent() > 0, 'the thread committed nothing');
  t.is(commits(), RUN);
  for (const stream of STREAMS) {
    const revisions = stored().flatMap(({ name, revision }) => (name === `sample-${stream}` ? [revision] : []));
    t.deepEqual(revisions, [...Array(RUN).keys()]);
  }
});

test('who writes alone never waits for another thread', async (t) => {
  const { write, sent } = await openLog(t, inThread(t));
  await write('alone', RUN);
  t.is(sent(), 0);
});

test('in another thread, too, each append of a group succeeds or conflicts on its own', async (t) => {
  const { log, write, sent } = await openLog(t, inThread(t));
  await Promise.all(STREAMS.map((stream) => write(stream, RUN)));
  const before = sent();
  const [fine, late] = await Promise.all([
    log.append('sample-a', RUN - 1, [newEvent()]),
    log.append('sample-b', 0, [newEvent()]),
    log.append('sample-c', RUN - 1, [newEvent()]),
    log.append('sample-d', RUN - 1, [newEvent()]),
  ]);
  t.is(sent(), before + 1);
  t.like(fine, { ok: true, revision: RUN });
  t.deepEqual(late, { ok: false, conflict: true, actual: RUN - 1 });
});

for (const when of ['before', 'after'] as const) {
  test(`a thread that ends ${when} its commit loses no append, and makes none twice`, async (t) => {
    const { write, stored, sent } = await openLog(t, async (path) => {
      const db = await connect(path, 1000);
      t.teardown(() => db.close());
      return async (group) => {
        if (when === 'after') new Appends(db).commit(group);
        return null;
      };
    });
    await Promise.all(STREAMS.map((stream) => write(stream, RUN)));
    t.true(sent() > 0);
    t.is(stored().length, STREAMS.length * RUN);
  });
}

test('a thread that is ended in the middle leaves the rest to the one that asked', async (t) => {
  const { write, stored, sent } = await openLog(t, async (path) => {
    const committer = new Committer({ path, checkpoint_pages: 1000 });
    t.teardown(() => committer.close());
    let asked = 0;
    return (group) => {
      const made = committer.commit(group);
      if (++asked === 3) void committer.close();
      return made;
    };
  });
  await Promise.all(STREAMS.map((stream) => write(stream, RUN)));
  t.true(sent() > 3);
  t.is(stored().length, STREAMS.length * RUN);
});
