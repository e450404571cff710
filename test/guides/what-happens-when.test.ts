import { until } from '../support/behind.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith('bash', 'curl')('what the guide to faults asks the service is answered as it shows', async (t) => {
  const service = await startTestService();
  try {
    await until(async () => (await fetch(`${service.url}/readyz`)).ok);
    const replace = { '127.0.0.1:8080': new URL(service.url).host };
    t.is(await runGuide('docs/guides/what-happens-when.md', { replace }), null);
  } finally {
    await service.stop();
  }
});
