import { runDemoGuide } from '../support/demo-guide.ts';
import { testWith } from '../support/programs.ts';

testWith(
  'bash',
  'curl',
  'python3',
)('credits and payments are as their guide says, line by line', async (t) => {
  t.is(await runDemoGuide('docs/guides/billing.md'), null);
});
