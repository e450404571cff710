// The headers that keep browsers from doing with an answer what it is not meant for. A reply may set its own instead.
import type { Middleware } from 'koa';

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function securityHeaders(https: boolean): Middleware {
  const headers = https ? { ...HEADERS, 'Strict-Transport-Security': 'max-age=31536000' } : HEADERS;
  return async (ctx, next) => {
    ctx.set(headers);
    await next();
  };
}
