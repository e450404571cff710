// The operations of both OpenAPI documents, and requests to them: good by what the documents say, or wrong in one way.
import fc, { type Arbitrary } from 'fast-check';
import { openDocuments } from '../support/documents.ts';
import { accepts, type Hints, invalid, type Schema, valid } from './schemas.ts';

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
}
export interface Operation {
  /** `GET /jobs/{job_id}`. */
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body: { kind: 'json' | 'file'; schema: Schema; required: boolean } | null;
  security: 'bearer' | 'api_key' | 'shared_secret' | null;
  for_admins: boolean;
  /** Whether it ignores the query, as pages do whose scripts read it. */
  takes_any_query: boolean;
  /** Whether only a sender who signs the body gets in. */
  is_signed: boolean;
}

/** What is in a path: what the service has given out under this kind of name, or a text. */
export type Place = { known: string; nth: number } | { text: string };

export interface Planned {
  operation: Operation;
  /** Null: good by the document. */
  wrong: string | null;
  places: Record<string, Place>;
  query: readonly (readonly [string, string])[];
  headers: Record<string, string>;
  body:
    | { text: string | Uint8Array<ArrayBuffer>; content_type: string | null }
    | { file: string; filename: string }
    | null;
}

export function openOperations(): Operation[] {
  return Object.values(openDocuments()).flatMap((root) => {
    /** The value with what its references lead to. */
    function resolved(value: unknown): unknown {
      if (Array.isArray(value)) return value.map(resolved);
      if (typeof value !== 'object' || value === null) return value;
      const { $ref, ...rest } = value as { $ref?: string };
      const own = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, resolved(one)]));
      if ($ref === undefined) return own;
      const target = $ref.slice(2).split('/');
      return { ...(resolved(target.reduce((at, key) => at[key], root)) as object), ...own };
    }
    return Object.entries<Record<string, never>>(root.paths).flatMap(([path, item]) =>
      Object.entries<OperationObject>(item).map(
        ([method, { parameters, requestBody, security, responses, ...more }]) => {
          const [media_type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
          return {
            name: `${method.toUpperCase()} ${path}`,
            method: method.toUpperCase(),
            path,
            parameters: resolved(parameters) as Parameter[],
            body: media
              ? {
                  kind: media_type === 'application/json' ? 'json' : 'file',
                  schema: resolved(media.schema) as Schema,
                  required: requestBody!.required,
                }
              : null,
            security: (Object.keys(security[0] ?? {})[0] ?? null) as Operation['security'],
            takes_any_query: more['x-any-query'] === true,
            for_admins: responses[403]?.$ref?.endsWith('/NotAdministrator') ?? false,
            is_signed: responses[401]?.$ref?.endsWith('/BadSignature') ?? false,
          };
        },
      ),
    );
  });
}
interface OperationObject {
  parameters: { $ref?: string }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  security: Record<string, never>[];
  responses: Record<string, { $ref?: string }>;
  'x-any-query'?: true;
}

/** The segment before a path parameter says what it names. */
export const kindOf = (path: string, name: string) =>
  path
    .slice(0, path.indexOf(`/{${name}}`))
    .split('/')
    .at(-1)!;

const ODD_IDS = [
  '..',
  '%',
  '__proto__',
  '00000000-0000-4000-8000-000000000000',
  'ünïcödé',
  'a b',
  '🧨',
  "'",
  'x'.repeat(90),
];

const of = (operation: Operation, place: Parameter['in']) => operation.parameters.filter((one) => one.in === place);
/** An object with the wanted parameters and some of the others. */
function some<T>(parameters: Parameter[], make: (parameter: Parameter) => Arbitrary<T>): Arbitrary<Record<string, T>> {
  const entries = parameters.map((one) => [
    one.name,
    one.required ? make(one) : fc.option(make(one), { freq: 1, nil: undefined }),
  ]);
  return fc
    .record(Object.fromEntries(entries))
    .map(
      (all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<string, T>,
    );
}

const FILES = [
  'url\nhttp://127.0.0.1:9/a\n',
  'name;link\r\nx;http://127.0.0.1:9/b\r\ny;http://127.0.0.1:9/c\r\n',
  '\ufeffhttp://127.0.0.1:9/d\n',
  'no url at all\n',
  '',
  '"unclosed,http://127.0.0.1:9/e\n',
];

/** Good by the document, though not always possible. */
export function goodRequest(operation: Operation, hints: Hints): Arbitrary<Planned> {
  const { path, body } = operation;
  const places = of(operation, 'path').map(({ name }) => [
    name,
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ known: fc.constant(kindOf(path, name)), nth: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ text: fc.constantFrom(...ODD_IDS) }) },
    ),
  ]);
  const json = () => valid(body!.schema, hints).map((value) => jsonOf(JSON.stringify(value)));
  const file = () =>
    fc.record({
      file: fc.constantFrom(...FILES),
      filename: fc.constantFrom('a.csv', 'ü.txt', '', '../../x.csv', 'a.xlsx'),
    });
  const given: Arbitrary<Planned['body']> = body === null ? fc.constant(null) : body.kind === 'json' ? json() : file();
  return fc.record({
    operation: fc.constant(operation),
    wrong: fc.constant(null),
    places: fc.record(Object.fromEntries(places)) as Arbitrary<Record<string, Place>>,
    query: some(of(operation, 'query'), ({ name, schema }) => valid(schema, hints, name).map(String)).map(
      Object.entries<string>,
    ),
    headers: some(of(operation, 'header'), ({ name, schema }) => (hints[name] ?? valid(schema, {})).map(String)),
    body: body?.required === false ? fc.option(given) : given,
  });
}

const jsonOf = (text: string | Uint8Array<ArrayBuffer>, content_type: string | null = 'application/json') => ({
  text,
  content_type,
});

/** A good request, and what is then done to it. */
export function wrongRequest(operation: Operation, hints: Hints): Arbitrary<Planned> {
  const ways: Arbitrary<{ wrong: string } & Partial<Planned>>[] = [
    fc.record({
      wrong: fc.constant('X-Log-Position'),
      headers: fc.constantFrom({ 'X-Log-Position': '!' }, { 'X-Log-Position': 'x'.repeat(65) }),
    }),
  ];
  if (!operation.takes_any_query) {
    ways.push(
      fc.record({
        wrong: fc.constant('query'),
        query: fc.constantFrom([['no_such_parameter', '1']], [['__proto__', '1']], [['', '']]) as Arbitrary<
          [string, string][]
        >,
      }),
    );
  }
  for (const { name, schema } of of(operation, 'query')) {
    const bad = invalid(schema, hints)
      ?.map(asText)
      .filter((text) => !accepts(schema, fromText(text, schema)))
      // A parameter without a value is absent, save in a deletion.
      .filter((text) => text !== '' || operation.name.startsWith('DELETE'));
    if (bad) ways.push(bad.map((text) => ({ wrong: `query ${name}`, query: [[name, text]] as const })));
    ways.push(fc.constant({ wrong: `query ${name} with NUL`, query: [[name, '\0']] as const }));
    ways.push(
      valid(schema, hints, name).map((value) => ({
        wrong: `query ${name} twice`,
        query: Array(2).fill([name, String(value)]),
      })),
    );
  }
  for (const { name, schema } of of(operation, 'header')) {
    const limited = schema.pattern !== undefined || schema.maxLength !== undefined;
    const bad = ['not one', '-', 'ü', 'x'.repeat(5000)].filter((text) => limited && !accepts(schema, text));
    if (bad.length > 0)
      ways.push(fc.constantFrom(...bad).map((text) => ({ wrong: `header ${name}`, headers: { [name]: text } })));
  }
  for (const { name } of of(operation, 'path')) {
    const bad = fc.constantFrom('\0', 'a\0b', 'x'.repeat(600));
    ways.push(bad.map((text) => ({ wrong: `path ${name}`, places: { [name]: { text } } })));
  }
  if (operation.body?.kind === 'json')
    ways.push(...wrongJson(operation.body, hints), wrongJson(operation.body, hints)[0]!);
  if (operation.body?.kind === 'file') ways.push(wrongForm());
  return fc.tuple(goodRequest(operation, hints), fc.oneof(...ways)).map(([good, way]) => ({
    ...good,
    ...way,
    places: { ...good.places, ...way.places },
    headers: { ...good.headers, ...way.headers },
    // What is said twice in the end is wrong too; the others stay as they are.
    query: [...good.query.filter(([name]) => !way.query?.some(([other]) => other === name)), ...(way.query ?? [])],
  }));
}

function wrongJson({ schema, required }: NonNullable<Operation['body']>, hints: Hints) {
  const good = valid(schema, hints).map((value) => JSON.stringify(value));
  const by_schema = invalid(schema, hints);
  return [
    ...(by_schema
      ? [by_schema.map((value) => ({ wrong: 'body by its schema', body: jsonOf(JSON.stringify(value)) }))]
      : []),
    fc
      .constantFrom('{', '{"a":1,}', '[1', 'nul', "{'a':1}", '{"a":1}}', '\u0000', '"\\ud800', '[' + '['.repeat(5000))
      .map((text) => ({ wrong: 'body that is no JSON', body: jsonOf(text) })),
    fc.constant({ wrong: 'body that is no UTF-8', body: jsonOf(new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])) }),
    fc
      .tuple(
        good,
        fc.constantFrom('text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16', null),
      )
      .map(([text, type]) => ({ wrong: `body as ${type}`, body: jsonOf(new TextEncoder().encode(text), type) })),
    good.map((text) => ({
      wrong: 'body that is compressed',
      body: jsonOf(text),
      headers: { 'content-encoding': 'gzip' },
    })),
    ...(required ? [fc.constant({ wrong: 'no body', body: null })] : []),
  ];
}

function wrongForm() {
  return fc.constantFrom(
    { wrong: 'JSON for a form', body: jsonOf('{}') },
    { wrong: 'no form', body: null },
    { wrong: 'form without a boundary', body: jsonOf('--x\r\n', 'multipart/form-data') },
    {
      wrong: 'form that is cut off',
      body: jsonOf('--x\r\nContent-Disposition: form-data; name="file"', 'multipart/form-data; boundary=x'),
    },
    {
      wrong: 'form with another field',
      body: jsonOf(
        '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n',
        'multipart/form-data; boundary=x',
      ),
    },
  );
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
/** What a query's text stands for, where the schema wants no text. */
function fromText(text: string, { type }: Schema): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean')
    return ({ true: true, false: false, 1: true, 0: false } as Record<string, unknown>)[text.toLowerCase()] ?? text;
  return text;
}
