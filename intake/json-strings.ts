// The strings in JSON documents as the cells of a table: a column for each path of names, a row for each item of the outermost list or
// for each document. An object whose names are numbers is a list too, unless it is a line: pandas writes its columns so, and PHP its
// arrays.
import { Tokenizer, TokenType } from '@streamparser/json';
import { beginsLikeUrl, isAttempt } from './cell-urls.ts';
import { IntakeError } from './errors.ts';

export interface JsonString {
  row: number;
  /** The names on the way to the string, joined by dots; the place in a row of a list of lists, as `[2]`. Lists have no name. */
  path: string;
  /**
   * Equal for strings of one column: their paths differ in the folders of a tree, such as `children.children.url`, or in the names of a map,
   * such as `home` and `about`.
   */
  family: string;
  value: string;
  /** Whether it stands in a list itself, and not in an object of one. */
  is_item?: boolean;
}

/** The family of a map's values. */
export const MAP = '*';
/** The path of names that are URLs. */
export const NAMES = '(names)';

/** A list or an object that is open. */
interface Opened {
  is_list: boolean;
  /** A list in a list or in a line, as a table writes its rows. */
  is_row: boolean;
  has_items: boolean;
  /** The path and the family of its values. */
  path: string;
  family: string;
  name: string | null;
  /** The number of its last value, from 0. */
  place: number;
}

const MAX_DEPTH = 64;
const MAX_PATH_CHARS = 1_000;
const STRING_BUFFER_BYTES = 4096;
const INDEX = /^\d+$/;
/** Names of the lists in which trees keep their branches. */
const BRANCHES =
  /^(?:children|childs?|items|nodes|entries|branches|folders?|sub[a-z_]*|bookmarks|pages|menus?|contents?|links)$/i;

const joined = (path: string, name: string): string =>
  (path === '' ? name : `${path}.${name}`).slice(0, MAX_PATH_CHARS);

/** A name that leads from one branch of a tree to the next one is left out. */
const familyOf = (family: string, name: string): string =>
  BRANCHES.test(name) || family.split('.').includes(name) ? family : joined(family, name);

/** Follows the tokens of JSON documents, one behind the other, and keeps the strings that are values. */
export class JsonStrings {
  readonly #tokenizer = new Tokenizer({ stringBufferSize: STRING_BUFFER_BYTES, separator: '' });
  readonly #open: Opened[] = [];
  readonly #are_lines: boolean;
  #lists = 0;
  #item = 0;
  #document = 0;
  #found: JsonString[] = [];
  #is_name = false;
  #has_token = false;
  #has_url = false;

  /** `are_lines`: each document is a row, so the names of its object are those of columns, whatever they are. */
  constructor(are_lines: boolean) {
    this.#are_lines = are_lines;
    this.#tokenizer.onToken = ({ token, value }) => {
      this.#has_token = true;
      this.#next(token, value);
    };
    this.#tokenizer.onError = (error) => {
      if (error instanceof IntakeError) throw error;
      throw this.#has_url ? notWellFormed(error.message) : new NoJson(error.message);
    };
  }

  /** Whether a token has ended in the piece. */
  write(piece: Uint8Array): boolean {
    this.#has_token = false;
    this.#tokenizer.write(piece);
    return this.#has_token;
  }
  end(): void {
    if (!this.#tokenizer.isEnded) this.#tokenizer.end();
    if (this.#open.length > 0) broken('it ends too early');
  }
  take(): JsonString[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  #next(token: TokenType, value: unknown): void {
    const parent = this.#open.at(-1);
    switch (token) {
      case TokenType.COLON:
        this.#is_name = false;
        return;
      case TokenType.COMMA:
        this.#is_name = parent?.is_list === false;
        return;
      case TokenType.SEPARATOR:
        return;
      case TokenType.RIGHT_BRACE:
      case TokenType.RIGHT_BRACKET:
        this.#close(token === TokenType.RIGHT_BRACKET);
        return;
    }
    if (token === TokenType.STRING && this.#is_name && parent) {
      const is_row = this.#are_lines && this.#open.length === 1;
      if (parent.name === null && this.#lists === 0 && !is_row && INDEX.test(value as string)) this.#beginItems(parent);
      parent.name = value as string;
      if (beginsLikeUrl(parent.name)) this.#add({ path: NAMES, family: NAMES, value: parent.name });
      return;
    }
    this.#beginValue();
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) this.#openValue(token);
    else if (token === TokenType.STRING) {
      const is_item = this.#open.at(-1)?.is_list === true;
      this.#add({ path: this.#path(), family: this.#familyOfString(), value: value as string, is_item });
    }
  }
  #add(found: Omit<JsonString, 'row'>): void {
    this.#has_url ||= isAttempt(found.value);
    this.#found.push({ row: this.#lists > 0 ? this.#item : this.#document, ...found });
  }

  /** Counts items of the outermost list, and documents. */
  #beginValue(): void {
    if (this.#open.length === 0) this.#document++;
    const parent = this.#open.at(-1);
    if (this.#lists === 1 && parent!.has_items) this.#item++;
    if (parent) parent.place++;
  }
  #beginItems(list: Opened): void {
    list.has_items = true;
    // Lists beside each other in one document are columns of a table; those of further documents continue with its rows.
    if (this.#lists++ === 0 && this.#document === 1) this.#item = 0;
  }
  #path(): string {
    const parent = this.#open.at(-1);
    if (!parent) return '';
    if (parent.is_row) return `${parent.path}[${parent.place}]`;
    if (parent.has_items || parent.name === null) return parent.path;
    return joined(parent.path, parent.name);
  }
  /** Whether the names of the innermost object are those of a map, or lead to what a document is about, and not those of a record. */
  get #is_map(): boolean {
    return this.#lists === 0 && !this.#are_lines;
  }
  #familyOfString(): string {
    const parent = this.#open.at(-1);
    if (!parent) return '';
    if (parent.is_row || (parent.has_items && parent.family === MAP)) return this.#path();
    if (parent.has_items || parent.name === null) return parent.family;
    return this.#is_map ? MAP : familyOf(parent.family, parent.name);
  }
  #openValue(token: TokenType): void {
    if (this.#open.length === MAX_DEPTH) broken('it is nested too deeply');
    const is_list = token === TokenType.LEFT_BRACKET;
    const parent = this.#open.at(-1);
    let family = parent?.family ?? '';
    if (parent && !parent.has_items && parent.name !== null) {
      family = this.#is_map ? MAP : familyOf(family, parent.name);
    }
    const is_line = is_list && parent === undefined && this.#are_lines;
    const is_row = is_line || (is_list && parent?.is_list === true);
    const opened = { is_list, is_row, has_items: false, path: this.#path(), family, name: null, place: -1 };
    this.#open.push(opened);
    if (is_list && !is_line) this.#beginItems(opened);
    this.#is_name = !is_list;
  }
  #close(is_list: boolean): void {
    const closed = this.#open.pop();
    if (closed?.is_list !== is_list) broken('its brackets do not match');
    if (closed.has_items) this.#lists--;
    this.#is_name = false;
  }
}

function broken(detail: string): never {
  throw notWellFormed(detail);
}

const notWellFormed = (detail: string) => new IntakeError('broken_file', messageOf(detail));
const messageOf = (detail: string) => `The JSON is not well-formed: ${detail.slice(0, 200)}.`;

/** A text that begins like JSON and is none before its first URL: it may be another text. */
export class NoJson extends IntakeError {
  constructor(detail: string) {
    super('broken_file', messageOf(detail));
  }
}
