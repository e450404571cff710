// The pages to which a checkout or a portal sends the user back: only those of this service, and of origins that the operator names.
// Otherwise a link to the payment provider could end at anybody's page.
import { ValidationError } from './errors.ts';

export interface ReturnUrls {
  /** Returns the absolute URL of what the client gave, or of `fallback`, a path of this service. Throws `ValidationError`. */
  of(field: string, given: string | undefined, fallback: string): string;
}

export function openReturnUrls(base_url: () => string, origins: readonly string[]): ReturnUrls {
  return {
    of(field, given, fallback) {
      if (given === undefined) return base_url() + fallback;
      const url = URL.parse(given, base_url());
      const is_allowed = url !== null && [new URL(base_url()).origin, ...origins].includes(url.origin);
      if (is_allowed && url.username === '' && url.password === '') return url.href;
      const msg = 'must be a path of this service, or a URL of an origin that the operator allows';
      throw new ValidationError([{ loc: ['body', field], msg, type: 'return_url' }]);
    },
  };
}
