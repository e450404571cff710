// Parses the JSON object `{"<field>": ["…", …]}` from a stream, so that memory never holds a million strings together.
import { Tokenizer, TokenType } from '@streamparser/json';
import { HttpError, type Problem, ValidationError } from '../errors.ts';
import { notJson } from './bodies.ts';
import { textProblem } from './validation.ts';

export interface StringListReader {
  /** Throws HttpError with 400 at the first byte that breaks the JSON, and ValidationError for an item that breaks the schema. */
  write(chunk: Uint8Array): void;
  /** Throws like `write` when the object is incomplete. */
  end(): void;
}

export interface StringListOptions {
  field: string;
  max_items?: number;
  max_chars?: number;
}

/** The tokenizer gathers strings in a buffer of this size, which is four times as fast as piece by piece. */
const STRING_BUFFER_BYTES = 4096;
/** More than the largest MAX_URL_CHARS, so the rest of a longer string changes nothing. */
const MAX_KEPT_CHARS = 70_000;
/** The longest string in JSON: twice the longest URL with an escape for every character. The tokenizer copies longer ones slowly. */
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

/**
 * Calls `take` with each string. `max_items` limits the list, `max_chars` each string.
 * @example openStringListReader({ field: 'urls' }, (url) => urls.push(url)).write(chunk);
 */
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
    if (name !== field) fail([String(name).slice(0, 200)], `unknown field; allowed: ${field}`, 'unexpected');
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
      if (place !== 'end') throw notJson('it ends too early.');
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

const unexpectedToken = (value: unknown) => notJson(`it cannot have ${JSON.stringify(value)?.slice(0, 50)} here.`);
function refuse(value: unknown): never {
  throw unexpectedToken(value);
}

/** Turns the tokenizer's own errors into `invalid_json`, and its decoder's into `invalid_encoding`. */
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
