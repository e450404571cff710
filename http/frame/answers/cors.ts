// Lets pages of other origins read answers: those of the origins that the operator names, and everybody what is for everybody. No answer
// allows cookies: a session of the console is good for its own origin alone.
import type { Middleware } from 'koa';

/** What a page of any origin may read. */
const FOR_ALL: ReadonlySet<string> = new Set([
  ...['/public-stats', '/credits/packages', '/v2/subscription/plans'],
  ...['/openapi.json', '/api/v2/openapi.json'],
]);

const EXPOSED = [
  ...['Content-Disposition', 'ETag', 'Idempotency-Replayed', 'Location', 'Retry-After', 'X-Log-Position'],
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-ID'],
  'WWW-Authenticate', // tells a client of MCP where to sign in
].join(', ');
/** Browsers keep the answer to a preflight for so long, at most. */
const MAX_AGE_S = '600';

export function allowOrigins(origins: readonly string[]): Middleware {
  const named = new Set(origins);
  /** Answers what an OPTIONS of a browser asks before its request. */
  const preflight: Middleware = async (ctx, next) => {
    await next();
    const methods: string | undefined = ctx.response.get('allow'); // none of a path that there is not
    if (!methods || ctx.get('access-control-request-method') === '') return;
    ctx.set({
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': ctx.get('access-control-request-headers') || '*',
      'Access-Control-Max-Age': MAX_AGE_S,
    });
  };
  return (ctx, next) => {
    const origin = ctx.get('origin');
    const is_for_all = FOR_ALL.has(ctx.path);
    const is_allowed = is_for_all || named.has(origin);
    if (!is_for_all && named.size > 0) ctx.vary('Origin');
    if (is_for_all) ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
    if (is_allowed && origin !== '') {
      ctx.set({
        'Access-Control-Allow-Origin': is_for_all ? '*' : origin,
        'Access-Control-Expose-Headers': EXPOSED,
      });
    }
    return is_allowed && ctx.method === 'OPTIONS' ? preflight(ctx, next) : next();
  };
}
