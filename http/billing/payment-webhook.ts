// The route to which the payment provider posts its events.
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { rawBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { openPaymentEvents } from './payment-events.ts';

const wire = (parts: Parts) => ({ events: openPaymentEvents(parts) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'billing');

const receive = route({
  id: 'receivePaymentEvent',
  method: 'POST',
  path: '/webhooks/payment',
  access: 'signature',
  summary: 'Take an event of the payment provider',
  description:
    'The provider signs the body: Stripe in `Stripe-Signature`. An event may come repeatedly and in any order. Any answer but 2xx asks ' +
    'the provider to send it again.',
  body: rawBody({ example: '{"id": "evt_1PqQ2r", "type": "checkout.session.completed", "data": {"object": {}}}' }),
  responses: {
    200: {
      description: 'The event was taken, now or before, or means nothing to the service.',
      schema: Type.Object({ received: Type.Literal(true) }, { $id: 'PaymentEventReceived' }),
      example: { received: true },
    },
  },
  early: (header, { events }) => events.early(header),
  async handler(request, { events }) {
    const position = await events.take(request.body, (name) => request.ctx.get(name), request.command());
    return { body: { received: true }, ...(position !== null && { position, is_early: true }) };
  },
});

export const group = groupOf(wire, [receive]);
