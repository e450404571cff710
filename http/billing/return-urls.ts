// The pages to which a checkout or a portal sends the user back: only those of this service, and of origins that the operator names.
// Otherwise a link to the payment provider could end at anybody's page.
import { ValidationError } from '../frame/errors.ts';

/** Encoded, a URL may have nine times its characters, and two of them lie in the address of a checkout at the sandbox. */
const MAX_LENGTH = 1000;

export type ReturnUrls = ReturnType<typeof openReturnUrls>;

export function openReturnUrls(base_url: () => string, origins: readonly string[]) {
  return {
    /** Returns the absolute URL of what the client gave, or of `fallback`, a path of this service. Throws `ValidationError`. */
    of(field: string, given: string | undefined, fallback: string): string {
      if (given === undefined) return base_url() + fallback;
      const url = URL.parse(given, base_url());
      // A blob: URL has an origin too, and no page that lasts.
      const is_page = url !== null && ['http:', 'https:'].includes(url.protocol);
      const is_allowed = is_page && [new URL(base_url()).origin, ...origins].includes(url.origin);
      const is_short = is_allowed && url.href.length <= MAX_LENGTH;
      if (is_short && url.username === '' && url.password === '') return url.href;
      const msg =
        is_allowed && !is_short
          ? `must have at most ${MAX_LENGTH} characters when its special characters are encoded`
          : 'must be a path of this service, or a URL of an origin that the operator allows';
      throw new ValidationError([{ loc: ['body', field], msg, type: 'return_url' }]);
    },
  };
}
