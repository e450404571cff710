// Prints the metrics of a whole service that runs, for `promtool check metrics`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startService } from '../service/service.ts';
import { readConfig } from '../settings/config.ts';
import { until } from '../test/support/behind.ts';

const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-metrics-'));
const service = await startService(
  readConfig({ DATA_DIR, PORT: '0', METRICS_ON_PORT: 'on', LOG_LEVEL: 'silent' }),
  pino({ level: 'silent' }),
);
try {
  let text = '';
  // Heartbeats come after the start, and with them the work and the audit.
  await until(async () => {
    text = await (await fetch(`${service.url}/metrics`)).text();
    return /^ledger_audit_violations /m.test(text);
  });
  process.stdout.write(text);
} finally {
  await service.stop();
  await rm(DATA_DIR, { recursive: true, force: true });
}
