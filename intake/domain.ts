// Parses a domain as users write it: a name in any case or script, with a port, or a whole URL.
import { classifyUrl, type InvalidReason } from './classify-url.ts';
import { DEFAULT_LIMITS } from './limits.ts';

/** `domain`: a host in the URL parser's form, without a final dot. */
export type ParsedDomain = { domain: string } | { reason: InvalidReason };

/** Applies the rules of an uploaded URL. @example parseDomain('*.Example.com') // { domain: 'example.com' } */
export function parseDomain(text: string): ParsedDomain {
  const bare = text.trim().replace(/^\*?\.(?=.)/, '');
  const classified = classifyUrl(bare, { max_url_chars: DEFAULT_LIMITS.max_url_chars });
  if (classified.category === 'invalid') return { reason: classified.reason };
  return { domain: classified.host.replace(/\.$/, '') };
}
