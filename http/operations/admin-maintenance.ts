// The administrators' routes for maintenance mode.

import { openMaintenanceMode } from '../../commands/maintenance.ts';
import { inWords, Nullable, Type } from '../../events/schema.ts';
import { MAX_MAINTENANCE_MESSAGE_CHARS } from '../../events/service.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { DEFAULT_MESSAGE } from '../frame/maintenance.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { NullableTime } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';

const wire = ({ log, maintenance }: Parts) => ({ mode: openMaintenanceMode(log), maintenance });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

export const MaintenanceView = Type.Object(
  {
    enabled: Type.Boolean(),
    message: Nullable(Type.String({ description: 'The sentence that users get; null while maintenance mode is off.' })),
    started_at: { ...NullableTime, description: 'Since when it is on; null while it is off.' },
  },
  { $id: 'Maintenance' },
);
export const maintenanceExample = {
  enabled: true,
  message: 'We move to a larger server. Back at 18:00 UTC.',
  started_at: '2026-01-31T09:00:00.000Z',
};

/** The view of what the stream says. */
export const maintenanceView = (state: { message: string; started_at: string } | null) => ({
  enabled: state !== null,
  message: state?.message ?? null,
  started_at: state?.started_at ?? null,
});

const MEANING =
  'While it is on, each process answers commands of users with 503 `maintenance`, `Retry-After` and the message, within a second after ' +
  'the answer. Reads, running jobs, administrators, and webhooks of the payment and identity providers go on; `/readyz` stays ready.';

const getMaintenance = route({
  id: 'getMaintenance',
  method: 'GET',
  path: '/admin/maintenance',
  access: 'admin',
  summary: 'Show maintenance mode',
  description: MEANING,
  of_log: true,
  responses: { 200: { description: 'Whether it is on.', schema: MaintenanceView, example: maintenanceExample } },
  handler: async (_, { mode }) => ({ body: maintenanceView(await mode.read()) }),
});

const setMaintenance = route({
  id: 'setMaintenance',
  method: 'POST',
  path: '/admin/maintenance',
  access: 'admin',
  summary: 'Turn maintenance mode on or off',
  description:
    `${MEANING} Without \`enabled\`, or without a body, it turns the mode on where it is off, and off where it is on. Asking for what is so ` +
    'already changes nothing, and another message replaces the first one.',
  body: jsonBody(
    Type.Object({
      enabled: Type.Optional(Type.Boolean({ description: 'Without it, the mode is toggled.' })),
      message: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: MAX_MAINTENANCE_MESSAGE_CHARS,
          pattern: inWords(
            '^[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$',
            'must begin with no space and have no line breaks',
          ),
          description: `The sentence that users get, one line. Default: ${DEFAULT_MESSAGE}`,
        }),
      ),
    }),
    { optional: true, example: { enabled: true, message: maintenanceExample.message } },
  ),
  responses: { 200: { description: 'The mode from now on.', schema: MaintenanceView, example: maintenanceExample } },
  async handler({ body, command }, { mode, maintenance }) {
    const { enabled, message = DEFAULT_MESSAGE } = body;
    const changed = () => {
      if (enabled === undefined) return mode.toggle(message, command());
      return enabled ? mode.start(message, command()) : mode.end(command());
    };
    const { state, position } = await changed();
    maintenance.changed(state);
    return { body: maintenanceView(state), position };
  },
});

export const group = groupOf(wire, [getMaintenance, setMaintenance]);
