// The kinds of settings: each takes what a setting means, and says which texts are valid.
import { isIP } from 'node:net';
import { parseRange } from '../net/cidr.ts';

export interface Setting<Value> {
  /** The value of an unset or empty variable. */
  readonly fallback: Value;
  /** One sentence for the operator. */
  readonly means: string;
  /** Describes a valid value, with its limits. */
  readonly wants: string;
  /** Errors do not show a secret's value. */
  readonly secret: boolean;
  /** Returns undefined for an invalid text. */
  parse(text: string): Value | undefined;
}

export function setting<Value>(
  fallback: Value,
  means: string,
  wants: string,
  parse: (text: string) => Value | undefined,
  secret = false,
): Setting<Value> {
  return { fallback, means, wants, secret, parse };
}

/** A whole number from `min` to `max`. */
export function integer(fallback: number, min: number, max: number, means: string): Setting<number> {
  return setting(fallback, means, `a whole number from ${min} to ${max}`, (text) => {
    const value = Number(text);
    return /^\d{1,15}$/.test(text) && value >= min && value <= max ? value : undefined;
  });
}

/** Days, or null when it is not set. */
export const days = (means: string): Setting<number | null> => ({ ...integer(0, 1, 36_500, means), fallback: null });

/** A whole number, or null when it is not set. */
export const amount = (min: number, max: number, means: string): Setting<number | null> => ({
  ...integer(0, min, max, means),
  fallback: null,
});

export const port = (means: string): Setting<number | null> => ({
  ...integer(0, 0, 65535, means),
  fallback: null,
});

/** Whether a text may stand in a header, a claim or a path: it has no control characters. */
const isPlain = (text: string) => text.length <= 1000 && !/\p{Cc}/u.test(text);

export const text = <Fallback extends string | null>(fallback: Fallback, means: string) =>
  setting<string | Fallback>(fallback, means, 'one line of text', (given) => (isPlain(given) ? given : undefined));

/** The path of a file. It may stand in the query of a URL. */
export const file = (means: string): Setting<string | null> =>
  setting<string | null>(null, means, 'the path of a file, without &, ? and #', (given) =>
    isPlain(given) && !/[&?#]/.test(given) ? given : undefined,
  );

/** Whoever has one thing that a key signed can try keys by the billion: 32 random characters of base64 are 192 bits. */
export const MIN_KEY_CHARS = 32;

/** A key of the service's own. */
export const key = (means: string) => secret(means, MIN_KEY_CHARS);

/** A secret that another service gave out, or that nothing which a stranger has was made with. */
export const secret = (means: string, min_chars = 8) =>
  setting<string | null>(
    null,
    means,
    `at least ${min_chars} characters without spaces`,
    (given) => (/^\S{1,1000}$/.test(given) && given.length >= min_chars ? given : undefined),
    true,
  );

/** The secret of a sender that signs as Standard Webhooks or Svix do. */
export const webhookSecret = (means: string): Setting<string | null> => ({
  ...secret(means),
  wants: 'whsec_ and at least 24 characters of base64',
  parse: (given) => (/^whsec_[A-Za-z0-9+/]{24,500}={0,2}$/.test(given) && given.length % 4 === 2 ? given : undefined),
});

export const word = <Word extends string>(fallback: Word, means: string, words: readonly Word[]) =>
  setting(fallback, means, `one of ${words.join(', ')}`, (given) => words.find((one) => one === given));

/** Only http URLs are parsed whole: URLs of MongoDB and EventStoreDB may name several servers, which no URL parser accepts. */
export function url(means: string, schemes: readonly string[]): Setting<string | null> {
  return setting<string | null>(
    null,
    means,
    `a URL that starts with ${schemes.map((s) => `${s}://`).join(' or ')}`,
    (given) => {
      const scheme = schemes.find((one) => given.startsWith(`${one}://`));
      if (scheme === undefined || !/^\S+:\/\/[^\s/]\S*$/.test(given)) return undefined;
      return scheme.startsWith('http') && !URL.canParse(given) ? undefined : given;
    },
  );
}

/** Items with commas between; none when it is not set. */
export function list(
  means: string,
  wants: string,
  item: (text: string) => string | undefined,
): Setting<readonly string[]> {
  return setting<readonly string[]>([], means, wants, (given) => {
    const items = given.split(',').map((part) => item(part.trim()));
    return items.every((one) => one !== undefined) ? [...new Set(items)] : undefined;
  });
}

export const cidrs = (means: string) =>
  list(means, 'addresses or CIDRs such as 10.0.0.0/8, with commas between', (given) => {
    const range = isIP(given) ? `${given}/${isIP(given) === 4 ? 32 : 128}` : given;
    try {
      parseRange(range);
      return range;
    } catch {
      return undefined;
    }
  });
