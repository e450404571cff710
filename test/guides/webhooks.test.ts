import { delimiter, dirname } from 'node:path';
import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { freePort } from '../support/free-port.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith('bash', 'curl')('webhooks are as their guide says, line by line', async (t) => {
  const site = await openSampleSite();
  // As the demo starts it.
  const service = await startTestService({ WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' });
  try {
    const receiver_port = await freePort();
    const replace = {
      '127.0.0.1:8080': new URL(service.url).host,
      [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}`,
      '127.0.0.1:8098': `127.0.0.1:${receiver_port}`,
      'receiver.ts 8098': `receiver.ts ${receiver_port}`,
      'data/demo': service.data_dir,
    };
    // `node` is the one that runs this.
    const env = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
    t.is(await runGuide('docs/guides/webhooks.md', { npm: true, replace, env }), null);
  } finally {
    await service.stop();
    await site.close();
  }
});
