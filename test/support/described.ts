// Holds answers to the OpenAPI documents that the service serves: a declared status, its content type, its schema.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

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
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: object;
}
interface Response {
  content?: Record<string, { schema: object }>;
}

/** Reads the documents of a running service. */
export async function readDescriptions(base_url: string): Promise<Descriptions> {
  const documents = await Promise.all(
    ['/openapi.json', '/api/v2/openapi.json'].map(async (path) => {
      const response = await fetch(base_url + path);
      return JSON.parse(await response.text(), closed) as OpenApi;
    }),
  );
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  for (const [i, { components }] of documents.entries()) ajv.addSchema({ $id: `doc${i}:`, components });

  /** `schema` is one of the document with this number. */
  function mismatch(document: number, schema: object, body: unknown): string | null {
    const own = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"doc${document}:#/components`));
    return ajv.validate(own, body) ? null : ajv.errorsText(ajv.errors, { dataVar: 'body' });
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
      const { paths } = documents[number]!;
      const template = asked in paths ? asked : Object.keys(paths).find((one) => patternOf(one).test(asked));
      const operation = template === undefined ? undefined : paths[template]![method.toLowerCase()];
      // What is not there is in no document; its error has the shape of all.
      const declared = operation ? operation.responses[answer.status] : NO_OPERATION;
      const problem = declared ? responseProblem(declared, answer, mismatch.bind(null, number)) : 'not declared';
      return (
        problem && `${method} ${path.slice(0, 100)}: ${answer.status} is ${problem}; ${JSON.stringify(answer.body)}`
      );
    },
  };
}

const NO_OPERATION: Response = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };

function responseProblem(
  declared: Response,
  { headers, body }: Described,
  mismatch: (schema: object, body: unknown) => string | null,
): string | null {
  if (!headers.get('x-request-id')) return 'without X-Request-ID';
  const [media_type, { schema } = { schema: {} }] = Object.entries(declared.content ?? {})[0] ?? [];
  if (media_type === undefined) return body === '' ? null : 'with a body';
  const given = headers.get('content-type')?.split(';')[0];
  if (given !== media_type) return `${given}, not ${media_type}`;
  const difference = mismatch(schema, body);
  return difference && `not as declared (${difference})`;
}

const patternOf = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);

/** Objects with named fields have no others, unless they say so: what is answered is described. */
function closed(_key: string, value: { type?: unknown; properties?: unknown } | null): unknown {
  if (value?.type !== 'object' || typeof value.properties !== 'object') return value;
  return { additionalProperties: false, ...value };
}
