import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith('bash', 'curl')('agents are served as their guide says', async (t) => {
  const site = await openSampleSite();
  const service = await startTestService();
  try {
    const replace = {
      '127.0.0.1:8080': new URL(service.url).host,
      [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}`,
      'data/demo': service.data_dir,
    };
    t.is(await runGuide('docs/guides/mcp.md', { replace }), null);
  } finally {
    await service.stop();
    await site.close();
  }
});
