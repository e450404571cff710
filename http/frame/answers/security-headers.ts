// The headers that keep browsers from misusing an answer: framing it, sniffing its type, caching it. A reply may override them.
import type { Middleware } from 'koa';
import { setHeaders } from './headers.ts';

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
  return (ctx, next) => {
    setHeaders(ctx, headers);
    return next();
  };
}
