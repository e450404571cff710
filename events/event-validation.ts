// Compiles the schemas of event types.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TSchema } from './schema.ts';

/** Returns the path and the problem of the first value that breaks the schema; null for data that fits. */
export type Validate = (data: unknown) => string | null;
export type Compile = (schema: TSchema) => Validate;

// A test compiles every schema of the vocabulary with the checks of the schemas themselves; they cost a start 50 ms.
const ajv = new Ajv2020({ strict: false, validateSchema: false, meta: false });
addFormats.default(ajv);

export const compile: Compile = (schema) => {
  const validate = ajv.compile(schema);
  return (data) => {
    if (validate(data)) return null;
    const [first] = validate.errors!;
    return `${first!.instancePath} ${first!.message}`;
  };
};
