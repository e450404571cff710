// Reads the JSON object `{"<field>": ["…", …]}` as its bytes come, so that a million strings never are in memory together.
import { Tokenizer, TokenType } from '@streamparser/json';
import { HttpError, type Problem, ValidationError } from './errors.ts';
import { textProblem } from './validation.ts';

export interface StringListReader {
  /** Throws HttpError at the first byte that cannot belong to such an object, ValidationError at what is not as declared. */
  write(chunk: Uint8Array): void;
  /** Throws like `write` when the object is not whole. */
  end(): void;
}

export interface StringListOptions {
  field: string;
  max_items?: number;
  max_chars?: number;
}

/** Strings are gathered in a buffer of this size: four times as fast as piece by piece. */
const STRING_BUFFER_BYTES = 4096;
/** Longer than any URL may be by any setting: what is behind it changes nothing. */
const MAX_KEPT_CHARS = 70_000;
/** Of a string in JSON: the longest URL with every character as an escape, twice. Behind it, the tokenizer would copy for long. */
const MAX_STRING_BYTES = 1024 * 1024;
const SLICE_BYTES = 64 * 1024;
const MAX_PROBLEMS = 50;

type Place =
  | 'start'
  | 'first name'
  | 'name'
  | 'colon'
  | 'list'
  | 'first item'
  | 'item'
  | 'after item'
  | 'after list'
  | 'end';

/** `max_items` and `max_chars`: of the list, and of each string. */
export function openStringListReader(
  { field, max_items = Number.POSITIVE_INFINITY, max_chars = Number.POSITIVE_INFINITY }: StringListOptions,
  take: (value: string) => void,
): StringListReader {
  const tokenizer = new Tokenizer({ stringBufferSize: STRING_BUFFER_BYTES });
  const problems: Problem[] = [];
  let place: Place = 'start';
  let index = 0;
  let is_read = false;
  let bytes_since_token = 0;

  const fail = (loc: Problem['loc'], msg: string, type: string): never => {
    throw new ValidationError([...problems, { loc: ['body', ...loc], msg, type }]);
  };
  function onName(name: unknown): Place {
    if (name !== field) fail([String(name).slice(0, 200)], `is not known here; known are ${field}`, 'unexpected');
    if (is_read) fail([field], 'is given more than once', 'repeated');
    is_read = true;
    return 'colon';
  }
  function onItem(token: TokenType, value: unknown): Place {
    const loc = [field, index++];
    if (token === TokenType.STRING) {
      const text = value as string;
      if (index > max_items) fail([field], `must NOT have more than ${max_items} items`, 'maxItems');
      if (text.length > max_chars) fail(loc, `must NOT have more than ${max_chars} characters`, 'maxLength');
      const problem = textProblem(text);
      if (problem) fail(loc, problem.msg, problem.type);
      if (problems.length === 0) take(text.length > MAX_KEPT_CHARS ? text.slice(0, MAX_KEPT_CHARS) : text);
      return 'after item';
    }
    if (!isValue(token)) throw unexpectedToken(value);
    const wrong = { loc: ['body', ...loc], msg: 'must be string', type: 'string_type' };
    problems.push(isScalar(token) ? { ...wrong, value } : wrong);
    if (!isScalar(token) || problems.length === MAX_PROBLEMS) throw new ValidationError(problems);
    return 'after item';
  }
  function next(token: TokenType, value: unknown): Place {
    switch (place) {
      case 'start':
        if (token === TokenType.LEFT_BRACE) return 'first name';
        return isValue(token) ? fail([], 'must be object', 'object_type') : refuse(value);
      case 'first name':
        if (token === TokenType.RIGHT_BRACE) return 'end';
        return token === TokenType.STRING ? onName(value) : refuse(value);
      case 'name':
        return token === TokenType.STRING ? onName(value) : refuse(value);
      case 'colon':
        return token === TokenType.COLON ? 'list' : refuse(value);
      case 'list':
        if (token === TokenType.LEFT_BRACKET) return 'first item';
        return isValue(token) ? fail([field], 'must be array', 'array_type') : refuse(value);
      case 'first item':
        return token === TokenType.RIGHT_BRACKET ? 'after list' : onItem(token, value);
      case 'item':
        return onItem(token, value);
      case 'after item':
        if (token === TokenType.COMMA) return 'item';
        return token === TokenType.RIGHT_BRACKET ? 'after list' : refuse(value);
      case 'after list':
        if (token === TokenType.COMMA) return 'name';
        return token === TokenType.RIGHT_BRACE ? 'end' : refuse(value);
      case 'end':
        return refuse(value);
    }
  }
  tokenizer.onToken = ({ token, value }) => {
    bytes_since_token = 0;
    place = next(token, value);
  };

  return {
    write(chunk) {
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        const slice = chunk.subarray(at, at + SLICE_BYTES);
        bytes_since_token += slice.length;
        reading(() => tokenizer.write(slice));
        if (bytes_since_token > MAX_STRING_BYTES) {
          fail([field, index], `must NOT have more than ${MAX_STRING_BYTES} bytes`, 'maxLength');
        }
      }
    },
    end() {
      reading(() => tokenizer.end());
      if (place !== 'end') throw notJson('it ends too early');
      if (!is_read) fail([field], 'is required', 'missing');
      if (problems.length > 0) throw new ValidationError(problems);
      if (index === 0) fail([field], 'must NOT have fewer than 1 items', 'minItems');
    },
  };
}

const isScalar = (token: TokenType) =>
  token === TokenType.NUMBER || token === TokenType.TRUE || token === TokenType.FALSE || token === TokenType.NULL;
const isValue = (token: TokenType) =>
  isScalar(token) || token === TokenType.STRING || token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET;

const notJson = (why: string) => new HttpError(400, 'invalid_json', `The body is not JSON: ${why}.`);
const unexpectedToken = (value: unknown) => notJson(`${JSON.stringify(value)?.slice(0, 50)} stands where it cannot`);
function refuse(value: unknown): never {
  throw unexpectedToken(value);
}

/** What the tokenizer throws of its own is about JSON, and what its decoder throws about UTF-8. */
function reading(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (error instanceof HttpError) throw error;
    if ((error as { code?: unknown }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw new HttpError(400, 'invalid_encoding', 'The body is not UTF-8.');
    }
    throw notJson((error as Error).message.slice(0, 200));
  }
}
