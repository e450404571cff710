import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith('bash', 'curl')('credits and payments are as their guide says, line by line', async (t) => {
  const site = await openSampleSite();
  // As the demo starts it.
  const service = await startTestService();
  try {
    const replace = {
      '127.0.0.1:8080': new URL(service.url).host,
      [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}`,
      'data/demo': service.data_dir,
    };
    t.is(await runGuide('docs/guides/billing.md', { replace }), null);
  } finally {
    await service.stop();
    await site.close();
  }
});
