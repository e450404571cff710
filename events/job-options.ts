// How a client wants the URLs of a job asked for, where not as by default. The options are one sealed text in the log, because headers may
// hold credentials.
import { inWords, type Static, Type } from './schema.ts';

const [MAX_HOSTS, MAX_HEADERS, MAX_HOST_CHARS, MAX_VALUE_CHARS] = [20, 20, 253, 1000];
const MAX_GAP_MS = 60_000;

/** Headers that say how a request is sent, and those that the checker or a client's other options set. */
const RESERVED =
  'host|connection|keep-alive|proxy-[a-z-]*|te|trailer|transfer-encoding|upgrade|content-[a-z-]*|expect|accept-encoding|user-agent';

const host = Type.String({
  minLength: 1,
  maxLength: MAX_HOST_CHARS,
  pattern: inWords('^[A-Za-z0-9.:\\[\\]-]+$', 'must be the name of a host, without a port'),
  description:
    'The name of a host, as in its URLs, without a port. No other host gets the headers, also not by a redirect.',
  examples: ['staging.example.com'],
});

export const JobOptions = Type.Object(
  {
    accept_status_codes: Type.Optional(
      Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description:
          'Answers with these status codes are `ok`, or `redirected`, and never broken: `403` for pages that want a login.',
      }),
    ),
    host_gap_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GAP_MS,
        description:
          'The least time between two requests of the job to one host, in milliseconds. The service may leave more time, never less.',
      }),
    ),
    headers: Type.Optional(
      Type.Array(
        Type.Object({
          host,
          headers: Type.Record(
            Type.String({ pattern: `^(?!(?:${RESERVED})$)[a-z0-9!#$%&'*+.^_|~-]{1,100}$` }),
            Type.String({
              maxLength: MAX_VALUE_CHARS,
              pattern: inWords('^[\\x20-\\x7e]*$', 'must be ASCII without line breaks'),
            }),
            {
              additionalProperties: false,
              minProperties: 1,
              maxProperties: MAX_HEADERS,
              description:
                'Values by names in lower case. Answers show the names alone. A page over https gets no request with them over http.',
            },
          ),
        }),
        { minItems: 1, maxItems: MAX_HOSTS, description: 'Headers that the requests to named hosts carry.' },
      ),
    ),
    user_agent_suffix: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: inWords(
          '^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$',
          'must be ASCII without line breaks, and begin and end with no space',
        ),
        description: "What follows the checker's User-Agent, for the logs of the servers.",
        examples: ['acme-audit/2'],
      }),
    ),
    look_twice: Type.Optional(
      Type.Boolean({
        description:
          'With `false`, a URL that times out or fails for a moment is not tried again: quicker, and less certain.',
      }),
    ),
  },
  { $id: 'JobOptions' },
);
export type JobOptions = Static<typeof JobOptions>;

/** The options as answers show them: of headers the names alone. */
export const ShownOptions = Type.Object(
  {
    ...JobOptions.properties,
    headers: Type.Optional(Type.Array(Type.Object({ host: Type.String(), names: Type.Array(Type.String()) }))),
  },
  { $id: 'ShownJobOptions' },
);
export type ShownOptions = Static<typeof ShownOptions>;

/** @example shownOptions({ look_twice: false }) // { look_twice: false } */
export function shownOptions({ headers, ...others }: JobOptions): ShownOptions {
  const shown = headers?.map(({ host, headers: of_host }) => ({ host, names: Object.keys(of_host) }));
  return shown === undefined ? others : { ...others, headers: shown };
}

/**
 * Reads a JSON text of an event; undefined where there is none, or its key was destroyed.
 * @example readSealedJson('{"look_twice":false}') // { look_twice: false }
 */
export function readSealedJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
