// Holds answers to the OpenAPI documents of the service: a declared status, its content type, its schema, its headers.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { openDocuments } from './documents.ts';

/** What there is to look at of an answer; `body` is text where it is not JSON. */
export interface Described {
  status: number;
  headers: Headers;
  body: unknown;
}

export interface Descriptions {
  /** `GET /jobs/{job_id}` of every operation in both documents. */
  operations: string[];
  /** What is wrong with an answer to this request, or null. The query in `path` does not matter. */
  problemOf(method: string, path: string, answer: Described): string | null;
}

interface OpenApi {
  paths: Record<string, Record<string, { responses: Record<string, Response | Reference> }>>;
  components: { responses: Record<string, Response> };
}
interface Response {
  content?: Record<string, { schema: object }>;
  headers?: Record<string, object>;
}
interface Reference {
  $ref: string;
}

/** Reads the documents of a running service. */
export async function readDescriptions(base_url: string): Promise<Descriptions> {
  const paths = ['/openapi.json', '/api/v2/openapi.json'];
  return describe(
    await Promise.all(paths.map(async (path) => (await (await fetch(base_url + path)).json()) as OpenApi)),
  );
}

let of_this_version: Descriptions | undefined;
/** Those of the service in this folder, which is not asked for them. */
export function descriptions(): Descriptions {
  return (of_this_version ??= describe(Object.values(openDocuments())));
}

/** Without what Ajv does for its users' speed: most files use a schema a few times, and lint holds the documents to OpenAPI. */
const AJV = {
  ...{ strict: true, strictTypes: false, strictRequired: false },
  ...{ validateSchema: false, meta: false, code: { optimize: false } },
} as const;

function describe(documents: readonly OpenApi[]): Descriptions {
  for (const document of documents) close(document);
  const ajv = new Ajv2020(AJV);
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  for (const [i, { components }] of documents.entries()) ajv.addSchema({ $id: `doc${i}:`, components });

  const patterns = documents.map(({ paths }) =>
    Object.entries(paths).map(([template, item]) => ({ pattern: patternOf(template), item })),
  );

  // What no document declares is held to the errors of each.
  const compiled = documents.map(() => new Map<object, ValidateFunction>());
  /** `schema` is one of the document with this number. */
  function mismatch(document: number, schema: object, body: unknown): string | null {
    const own = () =>
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"doc${document}:#/components`)) as object;
    const validate = compiled[document]!.get(schema) ?? ajv.compile(own());
    compiled[document]!.set(schema, validate);
    return validate(body) ? null : ajv.errorsText(validate.errors, { dataVar: 'body' });
  }

  return {
    operations: documents.flatMap(({ paths }) =>
      Object.entries(paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    ),
    problemOf(method, path, answer) {
      const asked = path.split('?')[0]!;
      const number = asked.startsWith('/api/v2') ? 1 : 0;
      const { paths, components } = documents[number]!;
      const item = paths[asked] ?? patterns[number]!.find(({ pattern }) => pattern.test(asked))?.item;
      const operation = item?.[method.toLowerCase()];
      // What is not there is in no document; its error has the shape of all.
      const said = operation ? operation.responses[answer.status] : NO_OPERATION;
      const declared = said && '$ref' in said ? components.responses[said.$ref.split('/').at(-1)!] : said;
      const problem = declared ? responseProblem(declared, answer, mismatch.bind(null, number)) : 'not declared';
      return (
        problem && `${method} ${path.slice(0, 100)}: ${answer.status} is ${problem}; ${JSON.stringify(answer.body)}`
      );
    },
  };
}

const NO_OPERATION: Response | Reference = {
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ApiError' } } },
};

function responseProblem(
  declared: Response,
  { headers, body }: Described,
  mismatch: (schema: object, body: unknown) => string | null,
): string | null {
  const missing = ALWAYS.find((name) => '$ref' in ((declared.headers ?? ALL)[name] ?? {}) && !headers.get(name));
  if (missing !== undefined) return `without ${missing}`;
  const { content } = declared;
  if (content === undefined) return body === '' ? null : 'with a body';
  const given = headers.get('content-type')?.split(';')[0] ?? 'nothing';
  const media = content[given];
  if (media === undefined) return `${given}, not ${Object.keys(content).join(' or ')}`;
  const difference = mismatch(media.schema, body);
  return difference && `not as declared (${difference})`;
}

/** Those of the headers that operations share which no answer lacks. */
const ALWAYS = ['X-Request-ID', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'];
const ALL: Record<string, object> = { 'X-Request-ID': { $ref: '' } };

const patternOf = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);

/** Objects with named fields have no others, unless they say so: what is answered is described. Changes the document. */
function close(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const inside of Object.values(value)) close(inside);
  const { type, properties, additionalProperties } = value as Record<string, unknown>;
  if (type === 'object' && typeof properties === 'object' && additionalProperties === undefined) {
    Object.assign(value, { additionalProperties: false });
  }
}
