import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith('bash', 'curl')('the ledger is audited as its guide says, line by line', async (t) => {
  t.timeout(300_000);
  const service = await startTestService();
  try {
    const replace = { '127.0.0.1:8080': new URL(service.url).host, 'data/demo': service.data_dir };
    t.is(await runGuide('docs/guides/auditing.md', { replace }), null);
  } finally {
    await service.stop();
  }
});
