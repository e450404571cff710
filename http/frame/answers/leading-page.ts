// A page that leads on at once, without a script. An answer with a cookie must arrive here before the next request leaves.

import type { Reply } from '../route.ts';
import { escaped } from './html.ts';

export const leadOn = (url: string, cookie?: string): Reply => ({
  body: `<!doctype html><title>Go on</title><meta http-equiv="refresh" content="0;url=${escaped(url)}"><a href="${escaped(url)}">Go on</a>\n`,
  headers: { ...(cookie !== undefined && { 'set-cookie': cookie }) },
});
