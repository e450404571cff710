import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';

testWith('bash', 'timeout')('checking from the terminal is as its guide says, line by line', async (t) => {
  const site = await openSampleSite();
  const state = await mkdtemp(join(tmpdir(), 'check-guide-'));
  try {
    const replace = { [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}` };
    const env = { XDG_STATE_HOME: state, XDG_CACHE_HOME: state };
    t.is(await runGuide('docs/guides/checking-from-the-terminal.md', { replace, env }), null);
  } finally {
    await site.close();
    await rm(state, { recursive: true });
  }
});
