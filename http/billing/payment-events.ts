// Takes the events of the payment provider: those that its webhook brings, and those of the sandbox's own pages, in the same way.
import type { Logger } from 'pino';
import type { CommandContext } from '../../commands/aggregate.ts';
import { openBilling } from '../../commands/billing/billing.ts';
import type { Position } from '../../events/event-store.ts';
import { wrongSignature } from '../callers/access.ts';
import { retryLater } from '../frame/errors.ts';
import type { Parts } from '../group.ts';
import { PaymentProviderError } from './payments.ts';

export type PaymentEvents = ReturnType<typeof openPaymentEvents>;

export function openPaymentEvents({ log, credits, payments, logger }: Parts) {
  const billing = payments && openBilling(log, credits, payments.name);
  return {
    /** Throws `HttpError` 401 for headers without a signature. */
    early(header: (name: string) => string): void {
      if (payments?.hasSignature(header)) return;
      // A stranger's request has none; the provider's has one that is too old by this machine's clock.
      if (SIGNATURES.some((name) => header(name) !== ''))
        refused(logger, 'its signature is older than five minutes, or of the wrong form');
      throw wrongSignature();
    },
    /** Throws `HttpError` 401 for a wrong signature; nothing is changed then. Returns the position of the last event that it led to. */
    async take(raw: Buffer, header: (name: string) => string, context: CommandContext): Promise<Position | null> {
      const delivery = await payments?.read(raw, header).catch((error: unknown) => later(error, logger));
      if (!delivery || !billing) {
        refused(logger, 'its signature is wrong: compare PAYMENT_WEBHOOK_SECRET and the clock');
        throw wrongSignature();
      }
      let reached: Position | null = null;
      for (const notice of delivery.notices) {
        const position = await billing.take(notice, { ...context, causation_id: delivery.id });
        if (position !== null && (reached === null || position > reached)) reached = position;
      }
      logTaken(logger, delivery.id, delivery.notices);
      return reached;
    },
  };
}

/** What the provider answers; throws 503 where it does not. `about`: for the log. */
export async function asked<T>(
  ask: () => Promise<T>,
  { logger }: { logger: Pick<Logger, 'warn'> },
  about: object = {},
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof PaymentProviderError)) throw error;
    logger.warn({ err: error, ...about }, 'the payment provider does not answer');
    throw providerAway();
  }
}

export const providerAway = () =>
  retryLater(503, 'payments_unavailable', 'The payment provider does not answer. Try again in a few seconds.');

const SIGNATURES = ['stripe-signature', 'sandbox-signature'];

const refused = (logger: Logger, why: string) => logger.warn({ why }, 'an event of the payment provider was refused');

/** The provider sends the event again. */
function later(error: unknown, logger: Logger): never {
  if (!(error instanceof PaymentProviderError)) throw error;
  logger.warn({ err: error }, 'an event of the payment provider could not be read; it will be sent again');
  throw providerAway();
}

function logTaken(logger: Logger, payment_event: string, notices: readonly { type: string }[]): void {
  logger.info(
    { payment_event, notices: notices.map(({ type }) => type) },
    'an event of the payment provider was taken',
  );
}
