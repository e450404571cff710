import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';

testWith('bash')('the checker alone is as its guide says, line by line', async (t) => {
  const site = await openSampleSite();
  try {
    const replace = { [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}` };
    t.is(await runGuide('docs/guides/checker.md', { replace }), null);
  } finally {
    await site.close();
  }
});
