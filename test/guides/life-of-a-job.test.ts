import { runDemoGuide } from '../support/demo-guide.ts';
import { testWith } from '../support/programs.ts';

testWith(
  'bash',
  'curl',
  'python3',
)('the life of a job is as its guide says, line by line', async (t) => {
  t.is(await runDemoGuide('docs/guides/life-of-a-job.md', { CHECKER_RETRIES: '2' }), null);
});
