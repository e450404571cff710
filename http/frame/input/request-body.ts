// Reads the body of a request as its route declares it, and has it handled.
import type { Context } from 'koa';
import { ValidationError } from '../errors.ts';
import type { RawBodies } from '../limits/raw-bodies.ts';
import type { Reply, Route } from '../route.ts';
import { readJson, readRaw } from './bodies.ts';
import { withList } from './list-bodies.ts';
import type { RouteChecks } from './route-checks.ts';
import { type UploadLimits, withUpload } from './uploads.ts';

export interface BodyLimits {
  uploads: UploadLimits;
  raw_bodies: RawBodies;
}

export async function withBody(
  ctx: Context,
  route: Pick<Route, 'body' | 'query'>,
  checks: RouteChecks,
  options: BodyLimits,
  handle: (body: unknown) => Promise<Reply>,
): Promise<Reply> {
  switch (route.body?.kind) {
    case 'json': {
      const { value, size_bytes } = await readJson(ctx, route.body);
      const problems = checks.body(value, size_bytes);
      if (problems.length > 0) throw new ValidationError(problems);
      return await handle(value);
    }
    case 'raw': {
      const leave = options.raw_bodies.enter(ctx, route.body);
      return await readRaw(ctx, route.body).then(handle).finally(leave);
    }
    case 'file':
      return await withUpload(ctx, { ...options.uploads, parameters: Object.keys(route.query.properties) }, handle);
    case 'list':
      return await withList(ctx, route.body, checks.body, options.uploads.folder, handle);
    default:
      return await handle(undefined);
  }
}
