// The guide's folder; its bucket is in test/servers/stored-files.test.ts, where a MinIO runs.
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith(
  'bash',
  'curl',
  'cmp',
)('an uploaded file is in the folder that the guide names', async (t) => {
  const service = await startTestService();
  try {
    const replace = { '127.0.0.1:8080': new URL(service.url).host, 'data/demo': service.data_dir };
    t.is(await runGuide('docs/guides/stored-files.md', { replace }), null);
  } finally {
    await service.stop();
  }
});
