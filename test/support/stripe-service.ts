// A service beside a fake of Stripe's API.
import { type FakeStripe, openFakeStripe, WEBHOOK_SECRET } from './fake-stripe.ts';
import { startTestService, type TestService } from './service.ts';

export async function startStripeService(): Promise<{ service: TestService; fake: FakeStripe; stop(): Promise<void> }> {
  const fake = await openFakeStripe();
  const secrets = { PAYMENT_SECRET_KEY: 'sk_test_1', PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET };
  const service = await startTestService({
    ...secrets,
    ...{ PAYMENT_API_URL: fake.url, SIGNUP_CREDITS: '0', TRIAL_CREDITS: '0' },
  });
  return {
    ...{ service, fake },
    async stop() {
      await service.stop();
      await fake.close();
    },
  };
}
