// The operations of the APIs that tools ask, found by their ids, and what a tool takes from their schemas.
import { type TObject, type TProperties, Type } from '../../events/schema.ts';
import type { Route, RouteRequest } from '../frame/route.ts';
import * as jobLifecycle from '../jobs/job-lifecycle.ts';
import * as v2Jobs from '../jobs/v2-jobs.ts';
import * as jobStats from '../results/job-stats.ts';
import * as v2Results from '../results/v2-results.ts';
import * as v2Usage from '../users/v2-usage.ts';

export type Operation = Pick<Route, 'method' | 'path' | 'query' | 'body' | 'responses'>;
export type Asked = Parameters<RouteRequest['ask']>[1];

/** The public API first: the gateway has what it lacks. */
const ROUTES = [v2Jobs, v2Results, v2Usage, jobLifecycle, jobStats].flatMap(
  ({ group }): readonly Route<never>[] => group.routes,
);

function operation(wanted: string): Operation {
  const found = ROUTES.find(({ id }) => id === wanted);
  if (!found) throw new Error(`there is no operation ${wanted}`);
  return found;
}

export const OPERATIONS = {
  start: operation('createJob'),
  check: operation('createJobAndWait'),
  job: operation('getJob'),
  cancel: operation('cancelJob'),
  resume: operation('resumeJob'),
  results: operation('listJobResults'),
  stats: operation('getJobStats'),
  usage: operation('getUsage'),
};

/** The APIs name the parameter of a job's path differently. */
export const ofJob = (id: string): Asked => ({ params: { id, job_id: id } });

/** The operation's answer as the schema of a tool's, which may leave out fields and add others. */
export function outputOf({ responses }: Operation, but: readonly string[] = [], more: TProperties = {}): TObject {
  const { properties } = (responses[200] ?? responses[201])!.schema as TObject;
  const kept = Object.entries(properties).filter(([name]) => !but.includes(name));
  return Type.Object({ ...Object.fromEntries(kept), ...more });
}
