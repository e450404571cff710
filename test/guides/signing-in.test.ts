import { runGuide } from '../support/guide.ts';
import { AUDIENCE, startProvider } from '../support/identity-provider.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

testWith(
  'bash',
  'curl',
  'openssl',
)('a user signs in as the guide says, line by line', async (t) => {
  const provider = await startProvider();
  const SECRET = `whsec_${Buffer.alloc(24, 'g').toString('base64')}`;
  const service = await startTestService({
    ...{ IDENTITY_JWKS_URL: provider.jwks_url, IDENTITY_ISSUER: provider.issuer, IDENTITY_AUDIENCE: AUDIENCE },
    IDENTITY_WEBHOOK_SECRET: SECRET,
  });
  try {
    const replace = { '127.0.0.1:8080': new URL(service.url).host, 'https://id.example.com': provider.issuer };
    const [TOKEN, ADMIN_TOKEN] = [await provider.signIn('alice'), await provider.signIn('root', { role: 'admin' })];
    t.is(await runGuide('docs/guides/signing-in.md', { replace, env: { TOKEN, ADMIN_TOKEN, SECRET } }), null);
  } finally {
    await service.stop();
    await provider.stop();
  }
});
