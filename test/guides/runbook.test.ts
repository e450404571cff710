// The runbook has an entry for each alert, its commands work, and what alerts and the dashboard ask for is there to be asked.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import test from 'ava';
import { until } from '../support/behind.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';
import { GOOD, SERVER_KEY } from '../support/test-certificates.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
const alerts = [...read('monitoring/alerts.yml').matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name!);

testWith('bash', 'curl')('the commands of the runbook work, line by line', async (t) => {
  t.timeout(300_000);
  const service = await startTestService();
  try {
    await until(async () => (await fetch(`${service.url}/readyz`)).ok);
    const replace = { '127.0.0.1:8080': new URL(service.url).host, 'data/demo': service.data_dir };
    t.is(await runGuide('docs/guides/runbook.md', { replace, env: { DATA_DIR: service.data_dir } }), null);
  } finally {
    await service.stop();
  }
});

test('each alert has one entry in the runbook, which its annotation leads to, and one test', (t) => {
  t.true(alerts.length > 10);
  const entries = [...read('docs/guides/runbook.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name!);
  t.deepEqual(
    entries.filter((name) => !['Watch', 'Look'].includes(name)),
    alerts,
  );
  const links = [...read('monitoring/alerts.yml').matchAll(/runbook_url: docs\/guides\/runbook\.md#(\w+)$/gm)];
  t.deepEqual(
    links.map(([, anchor]) => anchor!),
    alerts.map((name) => name.toLowerCase()),
  );
  const tests = read('monitoring/alerts.test.yml');
  for (const name of alerts) {
    t.regex(
      tests,
      new RegExp(`alertname: ${name}, exp_alerts: \\[\\] \\}$`, 'm'),
      `${name} is tried where it is quiet`,
    );
    t.regex(
      tests,
      new RegExp(`alertname: ${name}\\n +exp_alerts:\\n +- exp_labels: \\{ severity: \\w+`),
      `${name} fires`,
    );
  }
});

/** The names of metrics in expressions: functions have a bracket after them, and labels stand in braces or after `by`. */
function metricsOf(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
    .replaceAll(/\b(by|on|group_left|without) *\([^)]*\)/g, ' ');
  return [...bare.matchAll(/\b[a-z]\w*_\w+\b(?! *\()/g)].map(([name]) => name);
}

test('a running service has every metric that the alerts and the dashboard ask for', async (t) => {
  // A server with a certificate: of the embedded stores none has one.
  const smtp = createTlsServer({ key: SERVER_KEY, cert: GOOD }).listen(0, '127.0.0.1');
  await once(smtp, 'listening');
  const service = await startTestService({ SMTP_URL: `smtps://127.0.0.1:${(smtp.address() as AddressInfo).port}` });
  try {
    const dashboard = JSON.parse(read('monitoring/grafana/url-checker.json')) as {
      panels: { targets?: { expr: string }[] }[];
    };
    const asked = [
      ...metricsOf([...read('monitoring/alerts.yml').matchAll(/expr: (\|-\n(?: {10,}.*\n)+|.+)/g)].join('\n')),
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsOf(expr))),
    ];
    t.true(new Set(asked).size > 25);
    const lacking = async () => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      const samples = new Set([...text.matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name!));
      // Known only after half an hour of a disk that fills.
      if (text.includes('# TYPE disk_hours_left gauge')) samples.add('disk_hours_left');
      return [...new Set(asked)].filter((name) => !samples.has(name));
    };
    // Each role tells its own in its time.
    await until(async () => (await lacking()).length === 0).catch(async () => t.deepEqual(await lacking(), []));
  } finally {
    await service.stop();
    smtp.close();
  }
});
