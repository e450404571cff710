import { runDemoGuide } from '../support/demo-guide.ts';
import { freePort } from '../support/free-port.ts';
import { testWith } from '../support/programs.ts';

testWith(
  'bash',
  'curl',
  'python3',
)('webhooks are as their guide says, line by line', async (t) => {
  const [receiver_port, own_port] = [await freePort(), await freePort()];
  const replace = {
    '127.0.0.1:8098': `127.0.0.1:${receiver_port}`,
    'receiver.ts 8098': `receiver.ts ${receiver_port}`,
    8097: String(own_port),
  };
  const settings = { WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' };
  t.is(await runDemoGuide('docs/guides/webhooks.md', settings, { npm: true, replace }), null);
});
