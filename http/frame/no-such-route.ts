// Answers what no route takes: 404 for an unknown path; for a known one the methods that it takes, to OPTIONS, and 405 to others.
import type { Context, Middleware } from 'koa';
import { HttpError } from './errors.ts';

/** A path of words is documented by itself: what a path with a parameter in the same place takes is not for it. */
const parametersIn = ({ path }: { path: string }) => path.split(':').length;

const fewestIn = (layers: readonly Layer[]) => Math.min(...layers.map(parametersIn));
interface Layer {
  path: string;
  methods: string[];
}

/** Whether the path of a request is another route's, which has a word where this one has a parameter, and takes other methods. */
export function isOfAnother(ctx: Context, { path }: { path: string }): boolean {
  const matched = (ctx.matched ?? []) as Layer[];
  return matched.length > 1 && fewestIn(matched) < path.split('{').length;
}

/** `admit` counts the request: once before anybody looks at its credentials, and once without any. */
export const noSuchRoute =
  (admit: (ctx: Context, caller: undefined | null) => Promise<void>): Middleware =>
  async (ctx) => {
    await admit(ctx, undefined);
    await admit(ctx, null);
    const matched = (ctx.matched ?? []) as Layer[];
    const fewest = fewestIn(matched);
    const meant = matched.filter((layer) => parametersIn(layer) === fewest);
    const methods = [...new Set(meant.flatMap((layer) => layer.methods))];
    if (methods.length === 0) throw new HttpError(404, 'not_found', `There is no route ${ctx.path.slice(0, 200)}.`);
    const allow = [...methods, 'OPTIONS'].join(', ');
    ctx.set('Allow', allow);
    if (ctx.method !== 'OPTIONS') {
      throw new HttpError(405, 'method_not_allowed', `${ctx.path.slice(0, 200)} takes ${allow}.`);
    }
    ctx.status = 204;
  };
