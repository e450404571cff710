// The routes that take events of agencies and of the console for the views of administrators.
import { openReportedEvents } from '../../commands/reported-events.ts';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { openRequestLimit, overLimit } from '../frame/limits/request-limit.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';

const AGENCIES = { name: 'agency-events', subject: 'All agencies together', most: 1_200 };
const USERS = { name: 'paywall-events', subject: 'A user', most: 60 };
const MAX_BYTES = 16 * 1024;

const wire = ({ log, rates }: Parts) => ({
  reported: openReportedEvents(log),
  agencies: openRequestLimit(rates, AGENCIES),
  users: openRequestLimit(rates, USERS),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'intake');

const name = Type.String({ minLength: 1, maxLength: 100, description: 'The kind of event.' });
const properties = Type.Optional(
  Type.Object({}, { additionalProperties: true, description: 'Facts about the event, of any names.' }),
);

const Received = Type.Object({
  event_id: Type.String({ format: 'uuid', description: 'Names the event in the log.' }),
  received_at: Time('When the service took the event.'),
});
const example = { event_id: '5b2e6f4c-93a0-4d1c-b7c4-1d0f4b6a9e55', received_at: '2026-01-31T09:00:00.000Z' };
const received = (context: { command_id: string; now: number }) => ({
  event_id: context.command_id,
  received_at: new Date(context.now).toISOString(),
});

const agencyEvent = route({
  id: 'recordAgencyEvent',
  method: 'POST',
  path: '/agency-events',
  access: 'shared-secret',
  summary: "Record an agency's event",
  description: `An agency sends the secret of AGENCY_SECRET. ${AGENCIES.subject} may send ${AGENCIES.most} events a minute.`,
  body: jsonBody(
    Type.Object({
      event: name,
      agency_id: Type.String({ minLength: 1, maxLength: 200, description: 'The agency.' }),
      occurred_at: Type.Optional(Time('When it happened, by the clock of the agency.')),
      properties,
    }),
    {
      limit_bytes: MAX_BYTES,
      example: { event: 'client_added', agency_id: 'agency-7', properties: { clients: 12 } },
    },
  ),
  responses: { 202: { description: 'The service has the event.', schema: Received, example } },
  errors: { 429: overLimit(AGENCIES.subject, AGENCIES.most) },
  async handler({ body, command }, { reported, agencies }) {
    await agencies.admit('all');
    const { event, agency_id, occurred_at, properties: facts = {} } = body;
    const context = command();
    const occurred = occurred_at === undefined ? null : new Date(occurred_at).toISOString();
    const data = { event, agency_id, occurred_at: occurred, properties: JSON.stringify(facts) };
    const position = await reported.recordAgencyEvent(data, context);
    return { body: received(context), position, is_early: true };
  },
});

const paywallEvent = route({
  id: 'recordPaywallEvent',
  makes: true,
  method: 'POST',
  path: '/paywall-events',
  access: 'user',
  summary: 'Record an event of the paywall',
  description: `${USERS.subject} may send ${USERS.most} events a minute.`,
  body: jsonBody(Type.Object({ event: name, properties }), {
    limit_bytes: MAX_BYTES,
    example: { event: 'paywall_shown', properties: { plan: 'pro' } },
  }),
  responses: { 202: { description: 'The service has the event.', schema: Received, example } },
  errors: { 429: overLimit(USERS.subject, USERS.most) },
  async handler({ body, caller, command }, { reported, users }) {
    await users.admit(caller.user_id);
    const context = command();
    const { event, properties: facts = {} } = body;
    const data = { event, user_id: caller.user_id, properties: JSON.stringify(facts) };
    const position = await reported.recordPaywallEvent(data, context);
    return { body: received(context), position, is_early: true };
  },
});

export const group = groupOf(wire, [agencyEvent, paywallEvent]);
