// Parses the JSON object `{"<field>": ["…", …], …}`, or its list of `{url, ref}`, from a stream, so that memory never holds a million items
// together.
import { Tokenizer, TokenType } from '@streamparser/json';
import type { ListItem } from '../../../commands/jobs/intake.ts';
import { HttpError, type Problem, ValidationError } from '../errors.ts';
import { notJson } from './bodies.ts';
import { type JsonValueReader, openJsonValueReader } from './json-value.ts';
import { boundMessage } from './messages.ts';
import { textProblem } from './validation.ts';

export interface StringListOptions {
  field: string;
  max_items?: number;
  max_chars?: number;
  /** The names of the other fields. */
  others?: readonly string[];
  /** The field that takes the list as objects `{url, ref}` in its place, and the longest `ref`. */
  with_refs?: { field: string; max_ref_chars: number };
}

/**
 * The fields of which a body has exactly one.
 * @example listsOf({ field: 'urls', with_refs: { field: 'items', max_ref_chars: 200 } }) // ['urls', 'items']
 */
export const listsOf = ({ field, with_refs }: Pick<StringListOptions, 'field' | 'with_refs'>): string[] =>
  with_refs === undefined ? [field] : [field, with_refs.field];

/** Says that a body has no list, or both. */
export function notOneList(options: Pick<StringListOptions, 'field' | 'with_refs'>, given: readonly string[]) {
  const [field, other] = listsOf(options);
  const [loc, msg, type] =
    given.length > 0
      ? [given.at(-1)!, `cannot be given beside ${given[0]}`, 'exclusive']
      : [field!, other === undefined ? 'is required' : `is required, or ${other} in its place`, 'missing'];
  return new ValidationError([{ loc: ['body', loc], msg, type }]);
}

/** The tokenizer gathers strings in a buffer of this size, which is four times as fast as piece by piece. */
const STRING_BUFFER_BYTES = 4096;
/** More than the largest MAX_URL_CHARS, so the rest of a longer string changes nothing. */
const MAX_KEPT_CHARS = 70_000;
/** The longest string in JSON: twice the longest URL with an escape for every character. The tokenizer copies longer ones slowly. */
const MAX_STRING_BYTES = 1024 * 1024;
const SLICE_BYTES = 64 * 1024;
const MAX_PROBLEMS = 50;
/** The other fields are small: their schema bounds them more closely. */
const MAX_OTHER_CHARS = 64 * 1024;
/** A URL, a `ref` and their names. */
const MAX_ITEM_CHARS = 2 * MAX_KEPT_CHARS;

type Place =
  | 'start'
  | 'first name'
  | 'name'
  | 'colon'
  | 'list'
  | 'first item'
  | 'item'
  | 'item object'
  | 'after item'
  | 'after field'
  | 'other colon'
  | 'other'
  | 'end';

/**
 * Calls `take` with each item. `max_items` limits the list, `max_chars` each string.
 * @example new StringListReader({ field: 'urls' }, (url) => urls.push(url)).write(chunk);
 */
export class StringListReader {
  readonly #options: StringListOptions;
  readonly #take: (item: ListItem) => void;
  readonly #lists: readonly string[];
  readonly #max_items: number;
  readonly #max_chars: number;
  readonly #tokenizer = new Tokenizer({ stringBufferSize: STRING_BUFFER_BYTES });
  readonly #problems: Problem[] = [];
  #place: Place = 'start';
  #index = 0;
  /** The list that the body has. */
  #list: string | null = null;
  #bytes_since_token = 0;
  /** The value that is being read, where it is neither the list nor a string in it. */
  #value: JsonValueReader | null = null;
  #other = '';
  readonly #others: Record<string, unknown> = {};

  constructor(options: StringListOptions, take: (item: ListItem) => void) {
    this.#options = options;
    this.#take = take;
    this.#lists = listsOf(options);
    this.#max_items = options.max_items ?? Number.POSITIVE_INFINITY;
    this.#max_chars = options.max_chars ?? Number.POSITIVE_INFINITY;
    this.#tokenizer.onToken = ({ token, value }) => {
      this.#bytes_since_token = 0;
      this.#place = this.#next(token, value);
    };
  }

  /** Throws HttpError with 400 at the first byte that breaks the JSON, and ValidationError for an item that breaks the schema. */
  write(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      const slice = chunk.subarray(at, at + SLICE_BYTES);
      this.#bytes_since_token += slice.length;
      reading(() => this.#tokenizer.write(slice));
      if (this.#bytes_since_token > MAX_STRING_BYTES) {
        const msg = `must have at most ${MAX_STRING_BYTES.toLocaleString('en')} bytes`;
        this.#fail([this.#list ?? this.#lists[0]!, this.#index], msg, 'maxLength');
      }
    }
  }

  /** Returns the name of the list and the other fields. Throws like `write` when the object is incomplete. */
  end(): { list: string; others: Record<string, unknown> } {
    reading(() => this.#tokenizer.end());
    if (this.#place !== 'end') throw notJson('it ends too early.');
    if (this.#list === null) throw notOneList(this.#options, []);
    if (this.#problems.length > 0) throw new ValidationError(this.#problems);
    if (this.#index === 0) this.#fail([this.#list], boundMessage('minItems', 1), 'minItems');
    return { list: this.#list, others: this.#others };
  }

  /** Returns the place after the token. */
  #next(token: TokenType, value: unknown): Place {
    switch (this.#place) {
      case 'start':
        if (token === TokenType.LEFT_BRACE) return 'first name';
        return isValue(token) ? this.#fail([], 'must be object', 'object_type') : refuse(value);
      case 'first name':
        if (token === TokenType.RIGHT_BRACE) return 'end';
        return token === TokenType.STRING ? this.#onName(value) : refuse(value);
      case 'name':
        return token === TokenType.STRING ? this.#onName(value) : refuse(value);
      case 'colon':
        return token === TokenType.COLON ? 'list' : refuse(value);
      case 'list':
        if (token === TokenType.LEFT_BRACKET) return 'first item';
        return isValue(token) ? this.#fail([this.#list!], 'must be array', 'array_type') : refuse(value);
      case 'first item':
        return token === TokenType.RIGHT_BRACKET ? 'after field' : this.#onItem(token, value);
      case 'item':
        return this.#onItem(token, value);
      case 'after item':
        if (token === TokenType.COMMA) return 'item';
        return token === TokenType.RIGHT_BRACKET ? 'after field' : refuse(value);
      case 'item object':
        return this.#onObject(token, value);
      case 'other colon':
        return token === TokenType.COLON ? 'other' : refuse(value);
      case 'other':
        return this.#onOther(token, value);
      case 'after field':
        if (token === TokenType.COMMA) return 'name';
        return token === TokenType.RIGHT_BRACE ? 'end' : refuse(value);
      case 'end':
        return refuse(value);
    }
  }

  #onName(name: unknown): Place {
    const other = String(name);
    this.#other = other;
    const { others = [] } = this.#options;
    const is_list = this.#lists.includes(other);
    if (!is_list && !others.includes(other)) {
      const allowed = [...this.#lists, ...others].join(', ');
      this.#fail([other.slice(0, 200)], `unknown field; allowed: ${allowed}`, 'unexpected');
    }
    if (is_list ? this.#list === other : Object.hasOwn(this.#others, other))
      this.#fail([other], 'is given more than once', 'repeated');
    if (!is_list) return 'other colon';
    if (this.#list !== null) throw notOneList(this.#options, [this.#list, other]);
    this.#list = other;
    return 'colon';
  }

  #onItem(token: TokenType, value: unknown): Place {
    const loc = [this.#list!, this.#index++];
    if (this.#index > this.#max_items) this.#fail([this.#list!], boundMessage('maxItems', this.#max_items), 'maxItems');
    const is_object = this.#list === this.#options.with_refs?.field;
    if (is_object && token === TokenType.LEFT_BRACE) return this.#onObject(token, value);
    if (!is_object && token === TokenType.STRING) {
      this.#takeText(loc, value as string, undefined);
      return 'after item';
    }
    if (!isValue(token)) throw unexpectedToken(value);
    const kind = is_object ? 'object' : 'string';
    const wrong = { loc: ['body', ...loc], msg: `must be ${kind}`, type: `${kind}_type` };
    const is_whole = isScalar(token) || token === TokenType.STRING;
    this.#problems.push(isScalar(token) ? { ...wrong, value } : wrong);
    if (!is_whole || this.#problems.length === MAX_PROBLEMS) throw new ValidationError(this.#problems);
    return 'after item';
  }

  #onObject(token: TokenType, value: unknown): Place {
    const loc = [this.#list!, this.#index - 1];
    return this.#onValue(loc, token, value, 'item object', (whole) => {
      const { url, ref, ...rest } = whole as { url?: unknown; ref?: unknown };
      const [unknown] = Object.keys(rest);
      if (unknown !== undefined)
        this.#fail([...loc, unknown.slice(0, 200)], 'unknown field; allowed: url, ref', 'unexpected');
      if (url === undefined) this.#fail([...loc, 'url'], 'is required', 'missing');
      if (typeof url !== 'string') this.#fail([...loc, 'url'], 'must be string', 'string_type');
      if (ref !== undefined && typeof ref !== 'string') this.#fail([...loc, 'ref'], 'must be string', 'string_type');
      this.#takeText([...loc, 'url'], url as string, ref as string | undefined);
      return 'after item';
    });
  }

  #onOther(token: TokenType, value: unknown): Place {
    return this.#onValue([this.#other], token, value, 'other', (whole) => {
      this.#others[this.#other] = whole;
      return 'after field';
    });
  }

  /** Returns the place after the token of a value: `here` until the value ends, then what `ended` returns. */
  #onValue(
    loc: Problem['loc'],
    token: TokenType,
    value: unknown,
    here: Place,
    ended: (whole: unknown) => Place,
  ): Place {
    const reader = (this.#value ??= openJsonValueReader(here === 'other' ? MAX_OTHER_CHARS : MAX_ITEM_CHARS));
    try {
      if (!reader.take(token, value)) return here;
    } catch (error) {
      this.#fail(loc, (error as Error).message, 'maxLength');
    }
    this.#value = null;
    return ended(reader.read());
  }

  #takeText(loc: Problem['loc'], text: string, ref: string | undefined): void {
    if (text.length > this.#max_chars) this.#fail(loc, boundMessage('maxLength', this.#max_chars), 'maxLength');
    const max_ref_chars = this.#options.with_refs?.max_ref_chars ?? 0;
    if (ref !== undefined && (ref.length > max_ref_chars || ref === '')) {
      const msg = `must have 1 to ${max_ref_chars} characters`;
      this.#fail([...loc.slice(0, -1), 'ref'], msg, ref === '' ? 'minLength' : 'maxLength');
    }
    const problem = textProblem(text) ?? textProblem(ref ?? '');
    if (problem) this.#fail(loc, problem.msg, problem.type);
    const url = text.length > MAX_KEPT_CHARS ? text.slice(0, MAX_KEPT_CHARS) : text;
    if (this.#problems.length === 0) this.#take(ref === undefined ? url : { url, ref });
  }

  #fail(loc: Problem['loc'], msg: string, type: string): never {
    throw new ValidationError([...this.#problems, { loc: ['body', ...loc], msg, type }]);
  }
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
