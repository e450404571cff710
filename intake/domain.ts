// What somebody writes for a domain to the domain: a name in any case or script, with a port, or a whole URL.
import { classifyUrl, type InvalidReason } from './classify-url.ts';
import { DEFAULT_LIMITS } from './limits.ts';

/** `domain`: a host in the URL parser's form, without the dot that may end it. */
export type ParsedDomain = { domain: string } | { reason: InvalidReason };

/** Held to the rules of an uploaded URL. `*.example.com` and `.example.com` are taken for the domain itself. */
export function parseDomain(text: string): ParsedDomain {
  const bare = text.trim().replace(/^\*?\.(?=.)/, '');
  const classified = classifyUrl(bare, { max_url_chars: DEFAULT_LIMITS.max_url_chars });
  if (classified.category === 'invalid') return { reason: classified.reason };
  return { domain: new URL(classified.url).hostname.replace(/\.$/, '') };
}
