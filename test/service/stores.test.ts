// Which options each role opens its stores with.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { stamp } from '../../commands/aggregate.ts';
import { openStores } from '../../service/stores.ts';
import { readConfig } from '../../settings/config.ts';
import { commandContext, silent } from '../support/stores.ts';

const COPIED_FROM_BYTES = 16_000_000;
const url = `https://example.com/${'a'.repeat(800)}`;

for (const role of ['http', 'checker'] as const) {
  test(`${role} checkpoints the write-ahead log, also when nobody else appends`, async (t) => {
    const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-stores-'));
    const waiting = { signal: new AbortController().signal, waiting: () => {} };
    const stores = await openStores(readConfig({ DATA_DIR: data_dir }), silent, { of: role, ...waiting });
    t.teardown(async () => {
      await stores.close();
      await rm(data_dir, { recursive: true });
    });
    const path = join(data_dir, 'events.db');
    for (let n = 0; (await stat(path)).size < COPIED_FROM_BYTES / 2; n++) {
      const event = { type: 'UrlsListed', data: { job_id: `${n}`, from_index: 0, urls: Array(1000).fill(url) } };
      await stores.log.append(`urls-${n}`, 'no_stream', stamp([event], commandContext(), `urls-${n}`, 0));
      const { size } = await stat(`${path}-wal`);
      if (size > 4 * COPIED_FROM_BYTES) return t.fail(`${size} bytes of the write-ahead log, and nothing was copied`);
    }
    t.pass();
  });
}
