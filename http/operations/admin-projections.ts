// The administrators' routes for read models: how far each is, and making one anew while it is read.
import { Nullable, Type } from '../../events/schema.ts';
import type { ProjectionState } from '../../readmodels/projection-state.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { anError, routeOf } from '../frame/route.ts';
import { Count } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { type FollowerStatus, MOST_COUNTED } from '../server/followers.ts';

const wire = ({ projections }: Parts) => projections;
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const Difference = Type.Object({
  collection: Type.String(),
  id: Type.String(),
  kind: Type.Enum(['changed', 'missing', 'surplus'], {
    description: '`missing`: only the rebuilt read model has the document; `surplus`: only the live one had it.',
  }),
  fields: Type.Array(Type.String(), { description: 'The fields that differ, of a changed document.' }),
});

const Position = Type.String({ description: 'The position of the log up to which it has applied the events.' });

const ProjectionView = Type.Object(
  {
    projection: Type.String(),
    version: Type.Integer({ description: 'Of the code that made the live documents; 0 before there are any.' }),
    position: Nullable(Position),
    lag_events: Nullable(Count(`Events of the log after that position; ${MOST_COUNTED} stands for as many or more.`)),
    lag_seconds: Nullable(Type.Number({ minimum: 0, description: 'Age of the first of them.' })),
    parked_events: Count('Events that it could not apply.'),
    rebuild: Type.Enum(['none', 'requested', 'building', 'failed'], {
      description:
        '`requested`: it waits for a projector. `building`: it is rebuilt beside the one that is read. `failed`: the build waits for ' +
        'an operator, who asks for a rebuild.',
    }),
    failure: Nullable(Type.String({ description: 'Why the build failed.' })),
    building: Nullable(Type.Object({ version: Type.Integer(), position: Position, parked_events: Count('So far.') })),
    verified: Nullable(
      Type.Object(
        {
          position: Type.String({ description: 'The position of the log at the end of the comparison.' }),
          documents: Count('Documents of the rebuilt read model.'),
          differing: Count('Documents that the live one had otherwise.'),
          differences: Type.Array(Difference, { description: 'The first 100 of them.' }),
        },
        { description: 'What the comparison before the last rebuild took its place found; null without one.' },
      ),
    ),
  },
  { $id: 'Projection' },
);

const example = {
  ...{ projection: 'jobs', version: 7, position: '0000000000184467', lag_events: 0, lag_seconds: 0, parked_events: 0 },
  rebuild: 'building',
  failure: null,
  building: { version: 7, position: '0000000000100000', parked_events: 0 },
  verified: null,
};

function viewOf(state: ProjectionState, followers: readonly FollowerStatus[]) {
  const { _id: projection, version, parked: parked_events, next, rebuild, verified, failed } = state;
  const live = followers.find((row) => row.projection === projection && row.state === 'live');
  const lag_ms = live?.lag_ms ?? null;
  return {
    ...{ projection, version, position: live?.position ?? null, lag_events: live?.lag_events ?? null },
    ...{ lag_seconds: lag_ms === null ? null : Math.round(lag_ms / 100) / 10, parked_events },
    rebuild: failed ? 'failed' : rebuild ? 'requested' : next === null ? 'none' : 'building',
    failure: failed?.reason ?? null,
    building: next && { version: next.version, position: next.checkpoint, parked_events: next.parked },
    verified,
  };
}

const NO_PROJECTION = 'There is no such projection.';

const listProjections = route({
  id: 'listProjections',
  method: 'GET',
  path: '/admin/projections',
  access: 'admin',
  summary: 'List the projections, with their lag and their rebuilds',
  responses: {
    200: {
      description: 'All projections, by name.',
      schema: Type.Object({
        items: Type.Array(ProjectionView),
        log_position: Type.String({ description: 'The end of the log.' }),
      }),
      example: { items: [example], log_position: '0000000000184467' },
    },
  },
  async handler(_request, { states, followers }) {
    const [stored, { head, followers: rows }] = await Promise.all([states(), followers()]);
    const items = stored.map((state) => viewOf(state, rows));
    return { body: { items: items.sort((a, b) => (a.projection < b.projection ? -1 : 1)), log_position: head } };
  },
});

const rebuildProjection = route({
  id: 'rebuildProjection',
  makes: true,
  method: 'POST',
  path: '/admin/projections/{projection}/rebuild',
  access: 'admin',
  summary: 'Rebuild a read model from the log while it is read',
  description:
    'The projector makes the new documents beside the live ones and puts them in their place when both are at the same position of the ' +
    'log; reads never stop. A build that is under way goes on, unless `anew` is true.',
  params: Type.Object({ projection: Type.String({ maxLength: 100, description: 'Its name.', examples: ['jobs'] }) }),
  body: jsonBody(
    Type.Object({
      verify: Type.Optional(
        Type.Boolean({ description: 'Compare each document with the live one before. Default: false.' }),
      ),
      anew: Type.Optional(Type.Boolean({ description: 'Give up a build that is under way. Default: false.' })),
    }),
    { example: { verify: true } },
  ),
  responses: {
    202: {
      description: 'It is asked for.',
      schema: ProjectionView,
      example: { ...example, rebuild: 'requested', building: null },
    },
  },
  errors: { 404: anError(NO_PROJECTION, 'projection_not_found', NO_PROJECTION) },
  async handler({ params: { projection }, body: { verify, anew } }, { states, followers, requestRebuild }) {
    const stateOf = async () => (await states()).find(({ _id }) => _id === projection);
    if (!(await stateOf())) throw new HttpError(404, 'projection_not_found', NO_PROJECTION);
    await requestRebuild(projection, { verify, ...(!anew && { continues: 'any' }) });
    const [state, { followers: rows }] = await Promise.all([stateOf(), followers()]);
    return { status: 202, body: viewOf(state!, rows) };
  },
});

export const group = groupOf(wire, [listProjections, rebuildProjection]);
