// How long a ledger takes to load, and how much it keeps, by its length: `node bench/ledger.ts [ENTRIES…]`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCredits } from '../commands/ledger/credits.ts';
import { creditsStream } from '../events/streams.ts';
import { appendLongLedger, counting } from '../test/support/long-ledger.ts';

const LOADS = 9;

const lengths = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1_000, 100_000, 1_000_000];
for (const entries of lengths) {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  try {
    const { user_id } = await appendLongLedger(log, entries);
    const counted = counting(log);
    const load = async () => {
      const begun = process.cpuUsage();
      const { state } = await openCredits(counted.log).aggregate.read(creditsStream(user_id));
      const { user, system } = process.cpuUsage(begun);
      return { state, cpu_ms: (user + system) / 1_000 };
    };
    const first = await load();
    const read = counted.read();
    const later: number[] = [];
    for (let n = 0; n < LOADS; n += 1) later.push((await load()).cpu_ms);
    const median = later.sort((a, b) => a - b)[Math.floor(LOADS / 2)]!;
    console.log(
      `${first.state.entries} entries: ${read} events read, ${first.cpu_ms.toFixed(1)} ms of CPU cold, ` +
        `${median.toFixed(1)} ms warm; kept: ${first.state.done.size} entries, ${first.state.lots.length} lots`,
    );
  } finally {
    await log.close();
    await rm(folder, { recursive: true });
  }
}
