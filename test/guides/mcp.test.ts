import { runDemoGuide } from '../support/demo-guide.ts';
import { testWith } from '../support/programs.ts';

testWith('bash', 'curl')('agents are served as their guide says', async (t) => {
  t.is(await runDemoGuide('docs/guides/mcp.md'), null);
});
